/*
 * The scripts that `repoconf hook` prints. At each prompt they check whether the folder or the texts of a few small files have changed.
 * They use only built-ins for this, because starting a program would slow down each prompt. Anybody may have written such a file: links
 * are not followed, only regular files are read, and no more of them than is compared. After a change they evaluate the output of
 * `repoconf hook-load SHELL`, which calls `__repoconf_set` for each variable. All their names begin with `__repoconf_`, even those of
 * local variables: a function cannot export a variable that is one of its locals.
 */

import { shellQuoted } from "../output/messages.ts";

/** Bytes of a file that a script compares at each prompt. Comparing larger ones would slow down each prompt noticeably. */
export const largestFile = 262_144;

const bash = `# Repoconf's hook for bash: eval "$(repoconf hook bash)"
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
  echo "repoconf: the hook needs bash 4.4 or a newer one." >&2
else
  # Unloads the variables. A nested shell inherits it together with the variables.
  __repoconf_undo=\${__repoconf_undo-\${REPOCONF_HOOK_UNDO-}}
  __repoconf_place=
  __repoconf_said=
  __repoconf_files=()
  __repoconf_texts=()

  __repoconf_read() {
    __repoconf_text=
    if [[ ! -L $1 && -f $1 && -r $1 ]]; then
      IFS=$'\\n' read -r -d '' -n __MOST__ __repoconf_text <"$1" || :
    fi
  }

  __repoconf_hook() {
    local __repoconf_last=$? __repoconf_text= __repoconf_stale= __repoconf_index
    # With shopt -s nocasematch, [[ would ignore case; [ does not.
    if [ "$PWD" != "$__repoconf_place" ]; then
      __repoconf_stale=1
    else
      for ((__repoconf_index = 0; __repoconf_index < \${#__repoconf_files[@]}; __repoconf_index++)); do
        __repoconf_read "\${__repoconf_files[__repoconf_index]}"
        if [ "$__repoconf_text" != "\${__repoconf_texts[__repoconf_index]-}" ]; then
          __repoconf_stale=1
        fi
      done
    fi 2>/dev/null
    if [[ -n $__repoconf_stale ]]; then
      __repoconf_load || :
    fi
    # With set -e, returning the status would exit the shell, even after "! true", which does not.
    if [[ ! -o errexit ]]; then
      return "$__repoconf_last"
    fi
  }

  __repoconf_load() {
    local __repoconf_code __repoconf_note= __repoconf_made= __repoconf_inherited= __repoconf_text=
    eval "$__repoconf_undo" 2>/dev/null || :
    __repoconf_undo=
    unset -v REPOCONF_HOOK_UNDO
    __repoconf_files=()
    __repoconf_texts=()
    if ! __repoconf_code=$({ command repoconf hook-load bash __START__|| __SELF__ hook-load bash __START__; } </dev/null 2>/dev/null); then
      __repoconf_code=
    fi
    eval "$__repoconf_code" || :
    if [[ -n $__repoconf_undo ]]; then
      export REPOCONF_HOOK_UNDO="$__repoconf_inherited"
    fi
    if [[ -z $__repoconf_made ]]; then
      __repoconf_note="The hook cannot run repoconf, so no environment is loaded."
    fi
    if [[ -n $__repoconf_note && $__repoconf_note != "$__repoconf_said" ]]; then
      printf 'repoconf: %s\\n' "$__repoconf_note" >&2
    fi
    __repoconf_said=$__repoconf_note
    # Set last: after Ctrl+C above, the next prompt tries again.
    __repoconf_place=$PWD
  }

  __repoconf_set() {
    local __repoconf_known __repoconf_before
    # declare -p also finds arrays without a first element.
    __repoconf_known=$(declare -p "$1" 2>/dev/null) || :
    printf -v __repoconf_before %q "\${!1-}"
    case $1 in PROMPT_COMMAND | PWD) __repoconf_known=other ;; esac
    case $__repoconf_known in
    "" | "declare -"[-x]" $1") __repoconf_undo+="unset -v $1"$'\\n' __repoconf_inherited+="unset -v $1"$'\\n' ;;
    "declare -x $1="*) __repoconf_undo+="export $1=$__repoconf_before"$'\\n' __repoconf_inherited+="export $1=$__repoconf_before"$'\\n' ;;
    "declare -- $1="*) __repoconf_undo+="declare -g +x $1=$__repoconf_before"$'\\n' __repoconf_inherited+="unset -v $1"$'\\n' ;;
    *)
      __repoconf_note+="\${__repoconf_note:+ }$1 is not a plain variable of this shell, so the hook does not change it."
      return 0
      ;;
    esac
    export "$1=$2"
  }

  if [[ $(declare -p PROMPT_COMMAND 2>/dev/null) == "declare -a"* ]]; then
    if [[ " \${PROMPT_COMMAND[*]-} " != *" __repoconf_hook "* ]]; then
      PROMPT_COMMAND=(__repoconf_hook "\${PROMPT_COMMAND[@]}")
    fi
  elif [[ \${PROMPT_COMMAND-} != *__repoconf_hook* ]]; then
    PROMPT_COMMAND="__repoconf_hook\${PROMPT_COMMAND:+$'\\n'$PROMPT_COMMAND}"
  fi
fi
`;

const zsh = `# Unloads the variables. A nested shell inherits it together with the variables.
typeset -g __repoconf_undo="\${__repoconf_undo-\${REPOCONF_HOOK_UNDO-}}"
typeset -g __repoconf_place= __repoconf_said=
typeset -ga __repoconf_files __repoconf_texts precmd_functions
__repoconf_files=()
__repoconf_texts=()

__repoconf_read() {
  __repoconf_text=
  if [[ ! -L $1 && -f $1 && -r $1 ]]; then
    IFS= read -r -u 0 -k __MOST__ __repoconf_text <"$1" || :
  fi
}

__repoconf_hook() {
  local __repoconf_last=$?
  local __repoconf_text= __repoconf_stale= __repoconf_index
  if [[ $PWD != "$__repoconf_place" ]]; then
    __repoconf_stale=1
  else
    for ((__repoconf_index = 1; __repoconf_index <= \${#__repoconf_files}; __repoconf_index++)); do
      __repoconf_read "\${__repoconf_files[__repoconf_index]}"
      if [[ $__repoconf_text != "\${__repoconf_texts[__repoconf_index]-}" ]]; then
        __repoconf_stale=1
      fi
    done 2>/dev/null
  fi
  if [[ -n $__repoconf_stale ]]; then
    __repoconf_load || :
  fi
  return $__repoconf_last
}

__repoconf_load() {
  local __repoconf_code= __repoconf_note= __repoconf_made= __repoconf_inherited= __repoconf_text=
  {
    eval "$__repoconf_undo"
  } always {
    # A variable that has become read-only keeps its value.
    TRY_BLOCK_ERROR=0
  } 2>/dev/null
  __repoconf_undo=
  unset REPOCONF_HOOK_UNDO
  __repoconf_files=()
  __repoconf_texts=()
  if ! __repoconf_code="$({ command repoconf hook-load zsh __START__|| __SELF__ hook-load zsh __START__; } </dev/null 2>/dev/null)"; then
    __repoconf_code=
  fi
  eval "$__repoconf_code" || :
  if [[ -n $__repoconf_undo ]]; then
    typeset -gx REPOCONF_HOOK_UNDO="$__repoconf_inherited"
  fi
  if [[ -z $__repoconf_made ]]; then
    __repoconf_note="The hook cannot run repoconf, so no environment is loaded."
  fi
  if [[ -n $__repoconf_note && $__repoconf_note != "$__repoconf_said" ]]; then
    printf 'repoconf: %s\\n' "$__repoconf_note" >&2
  fi
  __repoconf_said=$__repoconf_note
  # Set last: after Ctrl+C above, the next prompt tries again.
  __repoconf_place=$PWD
}

__repoconf_set() {
  local __repoconf_kind="\${(tP)1-}" __repoconf_before=
  if [[ $1 == PWD ]]; then
    __repoconf_kind=other
  elif [[ -n $__repoconf_kind ]]; then
    __repoconf_before="\${(qq)\${(P)1}}"
  fi
  case $__repoconf_kind in
    ("") __repoconf_undo+="unset -v $1"$'\\n' __repoconf_inherited+="unset -v $1"$'\\n' ;;
    (*readonly*) __repoconf_kind=other ;;
    (scalar*export*) __repoconf_undo+="export $1=$__repoconf_before"$'\\n' __repoconf_inherited+="export $1=$__repoconf_before"$'\\n' ;;
    (scalar*) __repoconf_undo+="typeset -g +x $1=$__repoconf_before"$'\\n' __repoconf_inherited+="unset -v $1"$'\\n' ;;
    (*) __repoconf_kind=other ;;
  esac
  if [[ $__repoconf_kind == other ]]; then
    __repoconf_note+="\${__repoconf_note:+ }$1 is not a plain variable of this shell, so the hook does not change it."
    return 0
  fi
  typeset -gx "$1=$2"
}

if ((! \${precmd_functions[(I)__repoconf_hook]})); then
  precmd_functions=(__repoconf_hook $precmd_functions)
fi
`;

const scripts = { bash, zsh };

export type HookShell = keyof typeof scripts;

export const hookShells = Object.keys(scripts) as readonly HookShell[];

/** The script for a shell. `starts`: it starts a daemon if none is running. `self`: the command to use if `repoconf` is not on the PATH. */
export function hookScript(shell: HookShell, starts: boolean, self: readonly string[]): string {
  const script = scripts[shell]
    .replaceAll("__MOST__", String(largestFile + 1))
    .replaceAll("__START__", starts ? "--start " : "")
    .replaceAll("__SELF__", () => self.map(shellQuoted).join(" "));
  if (shell === "bash") return script;
  // zsh parses and runs the script with default options and without the user's aliases.
  return `# Repoconf's hook for zsh: eval "$(repoconf hook zsh)"\nemulate zsh -o no_aliases -c ${shellQuoted(script)}\n`;
}
