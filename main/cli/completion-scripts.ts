/*
 * The scripts that `repoconf completion` prints. Each calls `repoconf complete -- WORDS...` for candidates of the last word, and falls
 * back to file names if there are none, for example for --home or @FILE.
 */

/** Bash also splits words at = and :, so the script joins them again, and removes the joined prefix from the candidates. */
const bash = `# Completion of repoconf for bash: source <(repoconf completion bash)
_repoconf() {
  local -a words=()
  local index piece before="" after candidate quoted
  for ((index = 1; index <= COMP_CWORD; index++)); do
    # Unescape blanks in a name: my\\ shop.
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
    # %q would escape some words that readline accepts unquoted.
    [[ $after =~ ^[A-Za-z0-9._=-]+$ ]] && quoted=$after
    COMPREPLY+=("$quoted")
  done < <(command repoconf complete -- "\${words[@]}" 2>/dev/null)
  # No blank after =, because a value follows.
  [[ \${#COMPREPLY[@]} -gt 0 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -F _repoconf repoconf
`;

/** Can be sourced, or put into a folder of fpath. */
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
  # No blank after =, because a value follows.
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
    set -l typed (commandline -ct | string collect)
    # As a word, without its quotes and backslashes.
    set -l current (string unescape -- "$typed" | string collect)
    or set current "$typed"
    set -l candidates (command repoconf complete -- $words[2..-1] "$current" 2>/dev/null)
    if test (count $candidates) -eq 0
        __fish_complete_path "$typed"
    else
        printf '%s\\n' $candidates
    end
end
complete -c repoconf -f -a '(__repoconf_complete)'
`;

/** No test runs it. Without candidates, PowerShell completes file names by itself. */
const pwsh = String.raw`# Completion of repoconf for PowerShell: repoconf completion pwsh | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName repoconf -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @(
        foreach ($element in $commandAst.CommandElements) {
            # The word at the cursor is the last one, and may be empty.
            if ($element.Extent.EndOffset -lt $cursorPosition) {
                if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) {
                    $element.Value
                } else {
                    $element.Extent.Text
                }
            }
        }
    )
    # Without the quotes around it, of which PowerShell has several.
    $typed = $wordToComplete -replace '^[''"\u2018-\u201e]' -replace '[''"\u2018-\u201e]$'
    $command = Get-Command -Name repoconf -CommandType Application -TotalCount 1 -ErrorAction Ignore
    if ($null -ne $command -and $words.Count -gt 0) {
        $words += $typed
        # A word that is empty must arrive.
        $PSNativeCommandArgumentPassing = 'Standard'
        foreach ($candidate in @(& $command.Source complete -- $words[1..($words.Count - 1)] 2>$null)) {
            $word = $candidate
            if ($word -notmatch '^(--?)?[A-Za-z0-9_][A-Za-z0-9_=-]*$' -and $word -notmatch '^[A-Za-z0-9_][A-Za-z0-9_./=-]*$') {
                $word = "'" + ($word -replace '[''\u2018-\u201b]', '$0$0') + "'"
            }
            [System.Management.Automation.CompletionResult]::new($word, $candidate, 'ParameterValue', $candidate)
        }
    }
}
`;

/** By the shell's name. */
export const scripts = { bash, zsh, fish, pwsh };
