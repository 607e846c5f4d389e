/**
 * What the machine (hook-machine.ts) does with variables, in the words that bash and zsh have in common. Names and values are found by
 * removing them from a text, because with nocasematch, bash takes others for them wherever it matches or replaces.
 */
export const posixVariables = `
__repoconf_set() {
  local __repoconf_kind= __repoconf_text= __repoconf_value= __repoconf_rest=\${__repoconf_owns[$1]-}
  __repoconf_escape "$2"
  __repoconf_value=$__repoconf_text
  __repoconf_rest=\${__repoconf_rest#$'\\n'"$__repoconf_value"$'\\n'}
  if [ "$__repoconf_rest" != "\${__repoconf_owns[$1]-}" ] && __repoconf_may_stay "$1"; then
    __repoconf_kept[$1]=1
    return 0
  fi
  __repoconf_examine "$1"
  if [[ $__repoconf_kind != other ]]; then
    # Recorded before it is set, so that Ctrl+C in between loses nothing.
    if [[ -z \${__repoconf_kinds[$1]-} ]]; then
      __repoconf_kinds[$1]=$__repoconf_kind
      __repoconf_befores[$1]=$__repoconf_text
      __repoconf_owns[$1]=$'\\n'
      __repoconf_names+="$1 "
    fi
    if ((\${#__repoconf_owns[$1]} > 16384)); then
      __repoconf_owns[$1]=$'\\n'
    fi
    __repoconf_owns[$1]=$'\\n'$__repoconf_value\${__repoconf_owns[$1]}
    __repoconf_kept[$1]=1
    if __repoconf_put "$1" exported "$2"; then
      return 0
    fi
    __repoconf_forget "$1"
  fi
  __repoconf_note "$1 is not a plain variable of this shell, so the hook does not change it."
}

# In the same repository, what was changed meanwhile stays.
__repoconf_may_stay() {
  [ "$__repoconf_id" = "$__repoconf_repository" ] || __repoconf_is_own "$1"
}

# Whether a variable has a value that the hook gave it. Another hook may have brought back an earlier one.
__repoconf_is_own() {
  local __repoconf_kind= __repoconf_text= __repoconf_rest=
  __repoconf_examine "$1"
  if [[ $__repoconf_kind != exported ]]; then
    return 1
  fi
  __repoconf_escape "$__repoconf_text"
  __repoconf_rest=\${__repoconf_owns[$1]%%$'\\n'"$__repoconf_text"$'\\n'*}
  [ "$__repoconf_rest" != "\${__repoconf_owns[$1]}" ]
}

__repoconf_take_back() {
  if __repoconf_is_own "$1"; then
    __repoconf_put "$1" "\${__repoconf_kinds[$1]}" "\${__repoconf_befores[$1]}" || :
  fi
  __repoconf_forget "$1"
}

__repoconf_forget() {
  local __repoconf_rest=" $__repoconf_names" __repoconf_before=
  __repoconf_before=\${__repoconf_rest%%" $1 "*}
  __repoconf_names="$__repoconf_before \${__repoconf_rest#"$__repoconf_before $1 "}"
  __repoconf_names=\${__repoconf_names# }
  unset "__repoconf_owns[$1]" "__repoconf_kinds[$1]" "__repoconf_befores[$1]"
}

__repoconf_sweep() {
  local __repoconf_rest=$__repoconf_names __repoconf_name=
  while [[ -n $__repoconf_rest ]]; do
    __repoconf_name=\${__repoconf_rest%% *}
    __repoconf_rest=\${__repoconf_rest#* }
    if [[ -z \${__repoconf_kept[$__repoconf_name]-} ]]; then
      __repoconf_take_back "$__repoconf_name"
    fi
  done
}

# For nested shells: the number of variables, three lines for each, and a last line, by which it is known to be whole.
__repoconf_save() {
  local __repoconf_rest=$__repoconf_names __repoconf_name= __repoconf_state= __repoconf_kind= __repoconf_text= __repoconf_count=0
  while [[ -n $__repoconf_rest ]]; do
    __repoconf_name=\${__repoconf_rest%% *}
    __repoconf_rest=\${__repoconf_rest#* }
    __repoconf_kind=\${__repoconf_kinds[$__repoconf_name]}
    __repoconf_escape "\${__repoconf_owns[$__repoconf_name]}"
    __repoconf_state+="$__repoconf_kind $__repoconf_name"$'\\n'"$__repoconf_text"$'\\n'
    __repoconf_escape "\${__repoconf_befores[$__repoconf_name]}"
    __repoconf_state+="$__repoconf_text"$'\\n'
    __repoconf_count=$((__repoconf_count + 1))
  done
  # No program can be started with a variable that is too long.
  if ((__repoconf_count > 0 && \${#__repoconf_state} <= 32768)); then
    __repoconf_put REPOCONF_HOOK_STATE exported "$__repoconf_count"$'\\n'"$__repoconf_state." || :
  else
    __repoconf_put REPOCONF_HOOK_STATE unset "" || :
  fi
}

# What the hook of the shell around this one has set, whole or not at all.
__repoconf_inherit() {
  local __repoconf_rest=\${REPOCONF_HOOK_STATE-} __repoconf_line= __repoconf_count= __repoconf_name= __repoconf_kind= __repoconf_text=
  __repoconf_count=\${__repoconf_rest%%$'\\n'*}
  case $__repoconf_count in
  ("" | *[!0-9]* | ?????*) return 0 ;;
  esac
  __repoconf_rest=\${__repoconf_rest#*$'\\n'}
  while ((__repoconf_count-- > 0)); do
    __repoconf_line=\${__repoconf_rest%%$'\\n'*}
    __repoconf_kind=\${__repoconf_line%% *}
    __repoconf_name=\${__repoconf_line#* }
    case $__repoconf_name in
    ("" | [0-9]* | *[!A-Za-z0-9_]*) __repoconf_kind=other ;;
    esac
    case $__repoconf_kind in
    (exported | unset) ;;
    # It is not exported, so this shell does not have it.
    (plain) __repoconf_kind=unset ;;
    (*)
      __repoconf_names=
      return 0
      ;;
    esac
    __repoconf_names+="$__repoconf_name "
    __repoconf_kinds[$__repoconf_name]=$__repoconf_kind
    __repoconf_rest=\${__repoconf_rest#*$'\\n'}
    __repoconf_unescape "\${__repoconf_rest%%$'\\n'*}"
    __repoconf_owns[$__repoconf_name]=$__repoconf_text
    __repoconf_rest=\${__repoconf_rest#*$'\\n'}
    __repoconf_unescape "\${__repoconf_rest%%$'\\n'*}"
    __repoconf_befores[$__repoconf_name]=$__repoconf_text
    __repoconf_rest=\${__repoconf_rest#*$'\\n'}
  done
  if [[ $__repoconf_rest != . ]]; then
    __repoconf_names=
  fi
}

__repoconf_escape() {
  local __repoconf_slash='\\'
  __repoconf_text=\${1//"$__repoconf_slash"/"$__repoconf_slash$__repoconf_slash"}
  __repoconf_text=\${__repoconf_text//$'\\n'/"\${__repoconf_slash}n"}
}

__repoconf_unescape() {
  printf -v __repoconf_text %b "$1"
}
`;
