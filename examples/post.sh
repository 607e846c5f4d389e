#!/bin/sh
# A local tool with curl: sets a field of a repository, and prints the reply and the value.
#
#   examples/post.sh HOME ID [VALUE]
#
# HOME is the folder that `repoconf daemon` prints, ID the repository's, as in `repoconf repo list`.
set -eu
home=$1 id=$2 value=${3:-30}
key=${REPOCONF_API_KEY:-$(cat "$home/owner.key")}

# The key is sent into this socket, so nobody else may be able to put one there.
if [ -z "$(find "$home/socket" -prune -type d -user "$(id -u)" -perm 700)" ]; then
  echo "$home/socket must be a folder that only you can enter" >&2
  exit 1
fi
# A daemon that was killed leaves its socket there, so daemon.json says which one it is.
socket=$home/socket/$(sed -n 's|.*"socket": ".*/\(.*\)".*|\1|p' "$home/daemon.json")

# ask RESOURCE/OPERATION ARGUMENTS. The key is not an argument of curl: every user sees the arguments of programs.
ask() {
  printf 'header = "Authorization: Bearer %s"\n' "$key" |
    curl -q --silent --show-error --config - --unix-socket "$socket" \
      --header 'Content-Type: application/json' --data "$2" "http://localhost/svc/$1"
  echo
}

ask config/set "{\"repo\": \"$id\", \"svc.timeout\": $value}"
ask config/list "{\"repo\": \"$id\", \"field\": \"svc.timeout\"}"
