#!/bin/sh
# A local tool with curl: sets a field of a repository, and prints the reply and the value.
#
#   examples/post.sh HOME REPOSITORY [VALUE]
#
# HOME is the folder that `repoconf daemon` prints.
set -eu
home=$1 repository=$2 value=${3:-30}
key=${REPOCONF_API_KEY:-$(cat "$home/owner.key")}

# The key is sent into this socket, so nobody else may be able to put one there.
if [ -z "$(find "$home/socket" -prune -type d -user "$(id -u)" -perm 700)" ]; then
  echo "$home/socket must be a folder that only you can enter" >&2
  exit 1
fi
set -- "$home"/socket/*
socket=$1

# ask RESOURCE/OPERATION ARGUMENTS. The key is not an argument of curl: every user sees the arguments of programs.
ask() {
  printf 'header = "Authorization: Bearer %s"\n' "$key" |
    curl -q --silent --show-error --config - --unix-socket "$socket" \
      --header 'Content-Type: application/json' --data "$2" "http://localhost/svc/$1"
  echo
}

ask config/set "{\"repo\": \"$repository\", \"svc.timeout\": $value}"
ask config/list "{\"repo\": \"$repository\", \"field\": \"svc.timeout\"}"
