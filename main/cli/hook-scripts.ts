/*
 * The scripts that `repoconf hook` prints. At each prompt they compare the folder with the one before, and the texts of a few
 * small files with what was read of them: by built-ins alone, as a program at every prompt would be felt. Only then they ask
 * `repoconf hook-load SHELL`, whose answer calls `__repoconf_set` for each variable. Their own names begin with `__repoconf_`,
 * also of local variables: what is exported in a function must not be one of its locals.
 */

import { shellQuoted } from "./shell-quoted.ts";

const bash = `# Repoconf's hook for bash: eval "$(repoconf hook bash)"
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
  echo "repoconf: the hook needs bash 4.4 or a newer one." >&2
else
  # What takes the loaded variables away again; a shell inside a shell inherits it with them.
  __repoconf_undo=\${__repoconf_undo-\${REPOCONF_HOOK_UNDO-}}
  __repoconf_place=
  __repoconf_said=
  __repoconf_files=()
  __repoconf_texts=()

  __repoconf_read() {
    __repoconf_text=
    if [[ -f $1 && -r $1 ]]; then
      IFS=$'\\n' read -r -d '' __repoconf_text <"$1" || :
    fi
  }

  __repoconf_hook() {
    local __repoconf_last=$? __repoconf_text= __repoconf_stale= __repoconf_index
    # By [, as shopt -s nocasematch makes [[ take two folders for one.
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
    # With set -e it would end the shell, though what gave it, such as "! true", did not.
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
    # Not before: where Ctrl+C ends this, the next prompt begins it again.
    __repoconf_place=$PWD
  }

  __repoconf_set() {
    local __repoconf_known __repoconf_before
    # Tells of an array without a first element too.
    __repoconf_known=$(declare -p "$1" 2>/dev/null) || :
    printf -v __repoconf_before %q "\${!1-}"
    case $1 in PROMPT_COMMAND | PWD) __repoconf_known=other ;; esac
    case $__repoconf_known in
    "" | "declare -"[-x]" $1") __repoconf_undo+="unset -v $1"$'\\n' __repoconf_inherited+="unset -v $1"$'\\n' ;;
    "declare -x $1="*) __repoconf_undo+="export $1=$__repoconf_before"$'\\n' __repoconf_inherited+="export $1=$__repoconf_before"$'\\n' ;;
    "declare -- $1="*) __repoconf_undo+="declare -g +x $1=$__repoconf_before"$'\\n' __repoconf_inherited+="unset -v $1"$'\\n' ;;
    *)
      __repoconf_note+="\${__repoconf_note:+ }$1 is no plain variable of this shell, so it is left as it is."
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

const zsh = `# What takes the loaded variables away again; a shell inside a shell inherits it with them.
typeset -g __repoconf_undo="\${__repoconf_undo-\${REPOCONF_HOOK_UNDO-}}"
typeset -g __repoconf_place= __repoconf_said=
typeset -ga __repoconf_files __repoconf_texts precmd_functions
__repoconf_files=()
__repoconf_texts=()

# Of $(<FILE) zsh makes no process.
__repoconf_read() {
  __repoconf_text=
  if [[ -f $1 && -r $1 ]]; then
    __repoconf_text="$(<"$1")"
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
    # A variable that was made read-only meanwhile stays.
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
  # Not before: where Ctrl+C ends this, the next prompt begins it again.
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
    __repoconf_note+="\${__repoconf_note:+ }$1 is no plain variable of this shell, so it is left as it is."
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

export const hookShells: readonly string[] = Object.keys(scripts);

/** The script for a shell; `starts`: it may start a daemon where none runs; `self`: the command where none called `repoconf` is on the path. */
export function hookScript(shell: HookShell, starts: boolean, self: readonly string[]): string {
  const script = scripts[shell]
    .replaceAll("__START__", starts ? "--start " : "")
    .replaceAll("__SELF__", () => self.map(shellQuoted).join(" "));
  if (shell === "bash") return script;
  // Read, and later run, with the options that it was written for, and without a person's aliases.
  return `# Repoconf's hook for zsh: eval "$(repoconf hook zsh)"\nemulate zsh -o no_aliases -c ${shellQuoted(script)}\n`;
}
