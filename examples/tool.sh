#!/bin/sh
# A local tool in the shell: changes a value because of what it was, loses no change of others, and says what is now.
#
#   examples/tool.sh [REPOSITORY]
#
# Without REPOSITORY it is the one whose folder holds the current one.
set -eu
repository=${1:+--repo=$1}

seen=
while :; do
  # One command for both: a change between two of them would go unseen.
  answer=$(repoconf get svc.timeout --with-revision $repository)
  revision=${answer%% *}
  timeout=${answer#* }
  # Refused, although nobody has changed anything: it is the value.
  if [ "$revision" = "$seen" ]; then exit 3; fi
  seen=$revision
  code=0
  repoconf set svc.timeout=$((timeout + 10)) $repository --if-revision "$revision" --reason "ten more seconds" || code=$?
  case $code in
    0) break ;;
    3) ;; # Somebody else was faster. Read what is there now, and decide again.
    *) exit "$code" ;;
  esac
done
repoconf explain svc.timeout $repository
