#!/bin/sh
# A local tool in the shell: computes a new value from the current one, overwrites no changes of others, and prints the result.
#
#   examples/tool.sh [REPOSITORY]
#
# Without REPOSITORY, it uses the repository that contains the current folder.
set -eu
repository=${1:+--repo=$1}

seen=
while :; do
  # Reads both with one command: a change between two commands would be missed.
  answer=$(repoconf get svc.timeout --with-revision $repository)
  revision=${answer%% *}
  timeout=${answer#* }
  # The set was refused although nobody has changed anything, so the new value is invalid.
  if [ "$revision" = "$seen" ]; then exit 3; fi
  seen=$revision
  code=0
  repoconf set svc.timeout=$((timeout + 10)) $repository --if-revision "$revision" --reason "ten more seconds" || code=$?
  case $code in
    0) break ;;
    3) ;; # Somebody else changed the repository first. Read the value again, and retry.
    *) exit "$code" ;;
  esac
done
repoconf explain svc.timeout $repository
