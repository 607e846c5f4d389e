/*
 * The scripts that `repoconf completion` prints. Each asks `repoconf complete -- WORDS...` for what the last word can
 * become, and offers files where that knows nothing, as for --home or @FILE.
 */

/** Bash splits words at = and : too, so they are put together again, and of the answers only the last part counts. */
const bash = `# Completion of repoconf for bash: source <(repoconf completion bash)
_repoconf() {
  local -a words=()
  local index piece before="" after candidate quoted
  for ((index = 1; index <= COMP_CWORD; index++)); do
    # What is typed of a name with blanks: my\\ shop.
    piece=\${COMP_WORDS[index]//\\\\/}
    if [[ \${#words[@]} -gt 0 && ( $piece == [=:] || $before == [=:] ) ]]; then
      words[\${#words[@]}-1]+=$piece
    else
      words+=("$piece")
    fi
    before=$piece
  done
  local last=\${words[\${#words[@]}-1]}
  local cut=""
  [[ $last == *[=:]* ]] && cut=\${last%"\${last##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r candidate; do
    after=\${candidate#"$cut"}
    printf -v quoted %q "$after"
    # What %q does to a word that readline takes as it is.
    [[ $after =~ ^[A-Za-z0-9._=-]+$ ]] && quoted=$after
    COMPREPLY+=("$quoted")
  done < <(command repoconf complete -- "\${words[@]}" 2>/dev/null)
  # A value follows.
  [[ \${#COMPREPLY[@]} -gt 0 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -F _repoconf repoconf
`;

/** For sourcing, and for a folder of fpath too. */
const zsh = `#compdef repoconf
# Completion of repoconf for zsh: source <(repoconf completion zsh)
_repoconf() {
  local -a candidates valued
  candidates=("\${(@f)$(command repoconf complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  candidates=("\${(@)candidates:#}")
  if (( \${#candidates} == 0 )); then
    _files
    return
  fi
  # A value follows.
  valued=("\${(@M)candidates:#*=}")
  (( \${#valued} )) && compadd -S '' -- "\${valued[@]}"
  candidates=("\${(@)candidates:#*=}")
  (( \${#candidates} )) && compadd -- "\${candidates[@]}"
  return 0
}
if [[ \${funcstack[1]} == _repoconf ]]; then
  _repoconf "$@"
else
  if ! (( \${+functions[compdef]} )); then
    autoload -Uz compinit && compinit -i -D
  fi
  compdef _repoconf repoconf
fi
`;

const fish = `# Completion of repoconf for fish: repoconf completion fish > ~/.config/fish/completions/repoconf.fish
function __repoconf_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct | string collect)
    set -l candidates (command repoconf complete -- $words[2..-1] "$current" 2>/dev/null)
    if test (count $candidates) -eq 0
        __fish_complete_path "$current"
    else
        printf '%s\\n' $candidates
    end
end
complete -c repoconf -f -a '(__repoconf_complete)'
`;

/** By the shell's name. */
export const scripts = { bash, zsh, fish };
