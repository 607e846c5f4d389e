/*
 * The state machine of the hook, as it runs at each prompt. The scripts of all shells have these functions and variables, with names that
 * begin with `__repoconf_`, even those of local variables: a function cannot export a variable that is one of its locals.
 *
 * What it sees, with built-ins only:
 *   key      where the shell is, as `where` finds it: the nearest folder at or above the current one that was added (the daemon keeps an
 *            empty file for each in the home), or whose `.git` is a file, so that only the daemon can tell; empty outside of any. A folder
 *            `.git` ends the search: what is above it is another repository.
 *   texts    of the files that the last answer named.
 *   now      in seconds.
 * What it remembers:
 *   place    the key of the last answer; `-` while there is none.
 *   files, known            the files of the last answer, and their texts.
 *   retry, pause            when to ask again although nothing changed, after a failure that may pass.
 *   names, owns, kinds, befores     of each variable that it has set: the values that it gave it, the last one first, and what was there
 *            before, which was unset, plain or exported. What nested shells need of these is in REPOCONF_HOOK_STATE.
 *
 * A prompt:
 *   1. The same place, texts as known, no retry due: nothing.
 *   2. Outside of any place: take back everything.
 *   3. Else ask, and evaluate the answer, which calls `at`, `watch`, `set`, `note` and `worktree`. Then take back what it did not set.
 *
 * A variable is taken back only if it has a value that the hook gave it: what another program or the user changed is theirs. The place is
 * noted last: after Ctrl+C, the next prompt begins again.
 */

/** The machine in the words that bash and zsh have in common: what they do with variables, and what differs, is in files of its own. */
export const posixMachine = `
__repoconf_where() {
  local __repoconf_folder=
  __repoconf_key=
  # A bash that starts in a deleted folder has "." here: that is nowhere, and has no parent.
  case $PWD in
  (/*) ;;
  (*) return 0 ;;
  esac
  if [[ ! -d $__repoconf_home/folders ]]; then
    # Nothing says which folders were added, so each one is another place.
    __repoconf_key="?$PWD"
    return 0
  fi
  __repoconf_resolve
  __repoconf_folder=\${__repoconf_folder%/}
  while :; do
    if [[ -e $__repoconf_home/folders$__repoconf_folder/__MARK__ ]]; then
      __repoconf_key="+$__repoconf_folder/"
      return 0
    fi
    if [[ -n $__repoconf_tree ]]; then
      case $__repoconf_folder/ in
      ("$__repoconf_tree"/*)
        if [[ -e $__repoconf_home/folders$__repoconf_main\${__repoconf_folder#"$__repoconf_tree"}/__MARK__ ]]; then
          __repoconf_key="=$__repoconf_folder/"
          return 0
        fi
        ;;
      esac
    fi
    if [[ -f $__repoconf_folder/.git ]]; then
      # A linked worktree, or a submodule.
      __repoconf_key=".$__repoconf_folder/"
      return 0
    fi
    if [[ -d $__repoconf_folder/.git || -z $__repoconf_folder ]]; then
      return 0
    fi
    __repoconf_folder=\${__repoconf_folder%/*}
  done
}

__repoconf_step() {
  local __repoconf_key= __repoconf_text= __repoconf_notes= __repoconf_is_temporary= __repoconf_id=
  local -A __repoconf_kept
  __repoconf_kept=()
  __repoconf_where
  if [ "$__repoconf_key" = "$__repoconf_place" ] && ! __repoconf_is_stale 2>/dev/null; then
    return 0
  fi
  if [ "$__repoconf_key" != "$__repoconf_place" ]; then
    __repoconf_pause=0
  fi
  __repoconf_place=-
  __repoconf_files=()
  __repoconf_known=()
  __repoconf_retry=
  if [[ -n $__repoconf_key ]]; then
    __repoconf_ask
    # The answer may have named the linked worktree.
    __repoconf_where
  fi
  __repoconf_repository=$__repoconf_id
  __repoconf_sweep
  __repoconf_save
  if [[ -n $__repoconf_notes && $__repoconf_notes != "$__repoconf_said" ]]; then
    printf 'repoconf: %s\\n' "$__repoconf_notes" >&2
  fi
  __repoconf_said=$__repoconf_notes
  if [[ -n $__repoconf_is_temporary ]]; then
    # 10 seconds, then twice as long each time, up to 5 minutes.
    __repoconf_pause=$((__repoconf_pause == 0 ? 10 : __repoconf_pause >= 150 ? 300 : __repoconf_pause * 2))
    __repoconf_read_clock
    __repoconf_retry=$((__repoconf_text + __repoconf_pause))
  else
    __repoconf_pause=0
  fi
  __repoconf_place=$__repoconf_key
}

__repoconf_is_stale() {
  local __repoconf_index
  if [[ -n $__repoconf_retry ]]; then
    __repoconf_read_clock
    if ((__repoconf_text >= __repoconf_retry)); then
      return 0
    fi
  fi
  for ((__repoconf_index = __FIRST__; __repoconf_index < __FIRST__ + \${#__repoconf_files[@]}; __repoconf_index++)); do
    __repoconf_read "\${__repoconf_files[__repoconf_index]}"
    if [ "$__repoconf_text" != "\${__repoconf_known[__repoconf_index]-}" ]; then
      return 0
    fi
  done
  return 1
}

__repoconf_ask() {
  local __repoconf_code= __repoconf_made= __repoconf_needs_command= __repoconf_status=0
  local __repoconf_endpoint= __repoconf_socket= __repoconf_secret= __repoconf_body=
  __repoconf_tree=
  __repoconf_main=
  __repoconf_find_daemon || __repoconf_status=$?
  if ((__repoconf_status == 0)); then
    __repoconf_request || __repoconf_status=$?
    __repoconf_secret=
    __repoconf_evaluate
  fi
  if ((__repoconf_status == 7)) && [[ -z $__repoconf_starts ]]; then
    __repoconf_note "No daemon is running, so no environment was loaded. Most commands start one, for example repoconf list."
    # The next daemon writes another one.
    __repoconf_watch "$__repoconf_home/daemon.json" "$__repoconf_endpoint"
  elif ((__repoconf_status == 28)); then
    __repoconf_note "The daemon does not answer. To see why: repoconf doctor"
    __repoconf_is_temporary=1
  elif [[ -z $__repoconf_made || -n $__repoconf_needs_command ]]; then
    __repoconf_run_command
    __repoconf_evaluate
    if [[ -z $__repoconf_made ]]; then
      __repoconf_note "The hook cannot run repoconf, or it was upgraded since this shell began, so no environment is loaded. Open a new shell."
      __repoconf_is_temporary=1
    fi
  fi
}

# An answer counts if it is whole.
__repoconf_evaluate() {
  __repoconf_made=
  __repoconf_needs_command=
  if [[ $__repoconf_code == *$'\\n'__repoconf_made=__MADE__ ]]; then
    eval "$__repoconf_code" || :
  fi
  __repoconf_code=
}

# What a request needs. Returns 7 if no daemon is running, and 1 if only the command can or may ask it.
__repoconf_find_daemon() {
  local __repoconf_text= __repoconf_name=
  __repoconf_read "$__repoconf_home/daemon.json" 2>/dev/null
  if [[ -z $__repoconf_text ]]; then
    return 7
  fi
  __repoconf_endpoint=$__repoconf_text
  if [[ $__repoconf_text != *'"version": "__VERSION__"'*'"socket": "'* ]]; then
    return 1
  fi
  # Not in one step by "#*": zsh would try to match at each length.
  __repoconf_name=\${__repoconf_text%%'"socket": "'*}
  __repoconf_name=\${__repoconf_text#"$__repoconf_name"'"socket": "'}
  __repoconf_name=\${__repoconf_name%%'"'*}
  __repoconf_socket=$__repoconf_home/socket/\${__repoconf_name##*/}
  # The key is only sent into a socket that no other user can have made. That its folder is private was seen before.
  if [[ -z $__repoconf_checked || -n \${REPOCONF_API_KEY-} || -L $__repoconf_home/socket || ! -O $__repoconf_home/socket ]]; then
    return 1
  fi
  if [[ -L $__repoconf_socket || ! -S $__repoconf_socket || ! -O $__repoconf_socket ]] || ((\${#__repoconf_socket} > 100)); then
    return 1
  fi
  __repoconf_read "$__repoconf_home/owner.key" 2>/dev/null
  __repoconf_secret=\${__repoconf_text%%[!A-Za-z0-9_-]*}
  if [[ -z $__repoconf_secret ]]; then
    return 1
  fi
  __repoconf_make_body
}

__repoconf_at() {
  __repoconf_id=$1
}

__repoconf_worktree() {
  __repoconf_tree=$1
  __repoconf_main=\${2%/}
}

__repoconf_watch() {
  local __repoconf_text=\${2-}
  if (($# == 1)); then
    __repoconf_read "$1" 2>/dev/null
  fi
  __repoconf_files+=("$1")
  __repoconf_known+=("$__repoconf_text")
}

__repoconf_note() {
  __repoconf_notes+="\${__repoconf_notes:+ }$1"
}

# Fails for a folder whose name has characters that JSON has in another form.
__repoconf_make_body() {
  local __repoconf_text= __repoconf_slash='\\' __repoconf_quote='"'
  if [[ $PWD == *[[:cntrl:]]* ]]; then
    return 1
  fi
  __repoconf_text=\${PWD//"$__repoconf_slash"/"$__repoconf_slash$__repoconf_slash"}
  __repoconf_text=\${__repoconf_text//"$__repoconf_quote"/"$__repoconf_slash$__repoconf_quote"}
  __repoconf_body='{"path":"'$__repoconf_text'","shell":"__SHELL__"}'
}

__repoconf_run_command() {
  __repoconf_code=$(
    export REPOCONF_HOME="$__repoconf_home"
    { command repoconf hook-load __SHELL__ __START__|| __SELF__ hook-load __SHELL__ __START__; } </dev/null 2>/dev/null
  ) || __repoconf_code=
}

# The key is on standard input: arguments can be read by other users. A configuration or a proxy of the user must not lead elsewhere.
__repoconf_run_curl() {
  __repoconf_code=$(
    printf 'header = "Authorization: Bearer %s"\\n' "$__repoconf_secret" |
      "$__repoconf_curl" -q --silent --fail --config - --max-time 5 --noproxy '*' --unix-socket "$__repoconf_socket" \\
        --header 'Accept: text/plain' --header 'Content-Type: application/json' --header 'Expect:' \\
        --data-raw "$__repoconf_body" http://localhost/svc/config/hook 2>/dev/null
  )
}
`;
