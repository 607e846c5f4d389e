/** What the machine needs that bash has in its own words, and how the hook begins. */
export const bashParts = `
# The text of a regular file: no link is followed, and no more is read than is compared.
__repoconf_read() {
  __repoconf_text=
  if [[ ! -L $1 && -f $1 && -r $1 ]]; then
    IFS=$'\\n' read -r -d '' -n __MOST__ __repoconf_text <"$1" || :
  fi
}

# The current folder without links in its path. Only for a link that was not seen before, bash has to fork.
__repoconf_resolve() {
  local __repoconf_at=$PWD
  __repoconf_folder=$PWD
  while [[ -n $__repoconf_at && ! -L $__repoconf_at ]]; do
    __repoconf_at=\${__repoconf_at%/*}
  done
  if [[ -n $__repoconf_at ]]; then
    if [ "$__repoconf_at" != "$__repoconf_link" ] || [[ ! $__repoconf_target -ef $__repoconf_at ]]; then
      __repoconf_target=$(builtin cd -P -- "$__repoconf_at" 2>/dev/null && builtin pwd -P) || __repoconf_target=$__repoconf_at
      __repoconf_link=$__repoconf_at
    fi
    __repoconf_folder=\${__repoconf_target%/}\${PWD#"$__repoconf_at"}
  fi
}

__repoconf_read_clock() {
  printf -v __repoconf_text '%(%s)T' -1
}

# What a variable is now: unset, plain, exported, or anything else, which is left alone.
__repoconf_examine() {
  __repoconf_text=
  __repoconf_kind=other
  case $1 in
  (PWD | PROMPT_COMMAND) ;;
  (*)
    if [[ -n \${!1+x} ]]; then
      case \${!1@a} in
      (x) __repoconf_kind=exported ;;
      ("") __repoconf_kind=plain ;;
      esac
      __repoconf_text=\${!1}
    elif ! compgen -A arrayvar -X "!$1" -- "$1" >/dev/null; then
      __repoconf_kind=unset
    fi
    ;;
  esac
}

__repoconf_put() {
  case $2 in
  (exported) export "$1=$3" ;;
  (plain) declare -g +x "$1=$3" ;;
  (*) unset -v "$1" ;;
  esac 2>/dev/null
}

__repoconf_request() {
  if [[ -z $__repoconf_curl ]]; then
    return 1
  fi
  __repoconf_run_curl
}

__repoconf_hook() {
  set -- "$?"
  # With set -k, declarations do not see their assignments.
  local -
  set +k
  __repoconf_step || :
  # With set -e, returning the status would exit the shell, even after "! true", which does not.
  if [[ ! -o errexit ]]; then
    return "$1"
  fi
}

# After the hooks of other tools that come first, such as direnv's: they take back what they set without a look, so they must do that first.
__repoconf_install() {
  local __repoconf_first= __repoconf_rest= __repoconf_word= __repoconf_index=0
  if [[ $(declare -p PROMPT_COMMAND 2>/dev/null) == "declare -a"* ]]; then
    if [[ " \${PROMPT_COMMAND[*]-} " != *" __repoconf_hook "* ]]; then
      while [[ \${PROMPT_COMMAND[__repoconf_index]-} == *_hook* ]]; do
        __repoconf_index=$((__repoconf_index + 1))
      done
      PROMPT_COMMAND=("\${PROMPT_COMMAND[@]:0:__repoconf_index}" __repoconf_hook "\${PROMPT_COMMAND[@]:__repoconf_index}")
    fi
  elif [[ \${PROMPT_COMMAND-} != *__repoconf_run* ]]; then
    __repoconf_rest=\${PROMPT_COMMAND-}
    while
      __repoconf_word=\${__repoconf_rest%%[;$'\\n']*}
      [[ $__repoconf_word == *_hook* && $__repoconf_word != *[!A-Za-z0-9_\\ -]* && $__repoconf_word != *[!\\ ]\\ *[!\\ ]* ]]
    do
      __repoconf_first+=$__repoconf_word$'\\n'
      __repoconf_rest=\${__repoconf_rest#"$__repoconf_word"}
      __repoconf_rest=\${__repoconf_rest#?}
    done
    # An exported PROMPT_COMMAND gets into shells without this hook. No array does, so that there it does nothing. Quoted, because IFS must not split it.
    PROMPT_COMMAND=$__repoconf_first'"\${__repoconf_run[@]-:}"'\${__repoconf_rest:+$'\\n'$__repoconf_rest}
  fi
}

__repoconf_options=$-
set +k
if [[ $(declare -p __repoconf_kinds 2>/dev/null) != "declare -A"* ]]; then
  # Not sourced before in this shell. Texts may come from one around it that exports everything.
  declare -gA __repoconf_kinds=() __repoconf_owns=() __repoconf_befores=()
  declare -ga __repoconf_files=() __repoconf_known=() __repoconf_run=(__repoconf_hook)
  __repoconf_names=
  __repoconf_repository=
  __repoconf_said=
  __repoconf_tree=
  __repoconf_main=
  __repoconf_link=
  __repoconf_target=
  __repoconf_retry=
  __repoconf_pause=0
  __repoconf_inherit || :
fi
__repoconf_place=-
__repoconf_home=__HOME__
__repoconf_checked=__CHECKED__
__repoconf_starts=__START_FLAG__
__repoconf_curl=$(type -P curl) || __repoconf_curl=
if [[ $__repoconf_curl != /* ]]; then
  __repoconf_curl=
fi
__repoconf_install
if [[ $__repoconf_options == *k* ]]; then
  set -k
fi
`;
