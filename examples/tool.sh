#!/bin/sh
# A local tool in the shell: reads a value, changes it only if nobody has changed anything since, and says what is now.
#
#   examples/tool.sh [REPOSITORY]
#
# Without REPOSITORY it is the one whose folder holds the current one.
set -eu
repository=${1:+--repo=$1}

timeout=$(repoconf get svc.timeout $repository)
revision=$(repoconf history $repository --limit 1 --json | sed -n 's/.*"revision": \([0-9]*\).*/\1/p' | head -n 1)
if repoconf set svc.timeout=$((timeout + 10)) $repository --if-revision "$revision" --reason "ten more seconds"; then
  repoconf explain svc.timeout $repository
else
  echo "somebody else was faster (exit code $?)" >&2
  exit 1
fi
