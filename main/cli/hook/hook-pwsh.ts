/**
 * The machine (hook-machine.ts) in the words of PowerShell. It asks by the command alone, runs it as .NET does rather than as PowerShell would,
 * which cuts what a program prints into lines and decodes it as the console is set, and compares texts as .NET does: `-eq` ignores case, and
 * `-ceq` some characters. What it does with variables is in hook-pwsh-variables.ts.
 *
 * No test runs it: test/main/cli/hook-pwsh.test.ts parses it, and sees that each function and variable that it uses is there.
 */
export const pwshMachine = String.raw`
# The text of a regular file: no link is followed, and no more is read than is compared. A pipe has no length, so it is not opened.
function global:__repoconf_read {
    param([string] $path)
    $file = [System.IO.FileInfo]::new($path)
    if (-not $file.Exists -or $null -ne $file.LinkTarget -or $file.Length -eq 0 -or $file.Length -ge __MOST__) {
        return ''
    }
    try {
        return [System.Text.Encoding]::UTF8.GetString([System.IO.File]::ReadAllBytes($path))
    } catch {
        return ''
    }
}

# The current folder without links in its path, and without / at its end: the top folder is an empty text.
function global:__repoconf_resolve {
    $rest = $ExecutionContext.SessionState.Path.CurrentFileSystemLocation.ProviderPath
    if ([System.IO.Path]::DirectorySeparatorChar -ne '/') {
        return $rest
    }
    $folder = ''
    $links = 0
    while ($rest.Length -gt 0) {
        $name, $rest = $rest.Split([char] '/', 2)
        if ($name.Length -eq 0 -or [string]::Equals($name, '.')) {
            continue
        }
        if ([string]::Equals($name, '..')) {
            $folder = $folder.Substring(0, [System.Math]::Max(0, $folder.LastIndexOf([char] '/')))
            continue
        }
        $target = [System.IO.DirectoryInfo]::new("$folder/$name").LinkTarget
        if ($null -eq $target -or $links -eq 40) {
            $folder = "$folder/$name"
            continue
        }
        $links += 1
        if ($target[0] -eq '/') {
            $folder = ''
        }
        $rest = "$target/$rest"
    }
    return $folder
}

function global:__repoconf_where {
    $folder = __repoconf_resolve
    $marks = "$global:__repoconf_home/folders"
    if ([System.IO.Path]::DirectorySeparatorChar -ne '/' -or -not [System.IO.Directory]::Exists($marks)) {
        # Nothing says which folders were added, so each one is another place.
        return "?$folder"
    }
    while ($true) {
        if ([System.IO.File]::Exists("$marks$folder/__MARK__")) {
            return "+$folder/"
        }
        if ($global:__repoconf_tree.Length -gt 0 -and "$folder/".StartsWith("$global:__repoconf_tree/", [System.StringComparison]::Ordinal)) {
            $rest = $folder.Substring($global:__repoconf_tree.Length)
            if ([System.IO.File]::Exists("$marks$global:__repoconf_main$rest/__MARK__")) {
                return "=$folder/"
            }
        }
        if ([System.IO.File]::Exists("$folder/.git")) {
            # A linked worktree, or a submodule.
            return ".$folder/"
        }
        if ($folder.Length -eq 0 -or [System.IO.Directory]::Exists("$folder/.git")) {
            return ''
        }
        $folder = $folder.Substring(0, $folder.LastIndexOf([char] '/'))
    }
}

function global:__repoconf_step {
    # Not what the user has chosen for their own commands. Both end with this function.
    Microsoft.PowerShell.Core\Set-StrictMode -Off
    $ErrorActionPreference = 'Stop'
    $global:__repoconf_notes = [System.Collections.Generic.List[string]]::new()
    $global:__repoconf_kept = [System.Collections.Generic.HashSet[string]]::new($global:__repoconf_comparer)
    $global:__repoconf_is_temporary = ''
    $global:__repoconf_id = ''
    $key = __repoconf_where
    if (-not [string]::Equals($key, $global:__repoconf_place)) {
        $global:__repoconf_pause = 0
    } elseif (-not (__repoconf_is_stale)) {
        return
    }
    $global:__repoconf_place = '-'
    $global:__repoconf_files.Clear()
    $global:__repoconf_known.Clear()
    $global:__repoconf_retry = 0
    if ($key.Length -gt 0) {
        __repoconf_ask
        # The answer may have named the linked worktree.
        $key = __repoconf_where
    }
    $global:__repoconf_repository = $global:__repoconf_id
    __repoconf_sweep
    __repoconf_save
    $said = $global:__repoconf_notes -join ' '
    if ($said.Length -gt 0 -and -not [string]::Equals($said, $global:__repoconf_said)) {
        $Host.UI.WriteErrorLine("repoconf: $said")
    }
    $global:__repoconf_said = $said
    if ($global:__repoconf_is_temporary.Length -gt 0) {
        # 10 seconds, then twice as long each time, up to 5 minutes.
        $global:__repoconf_pause = [System.Math]::Min(300, [System.Math]::Max(10, $global:__repoconf_pause * 2))
        $global:__repoconf_retry = [System.DateTimeOffset]::UtcNow.ToUnixTimeSeconds() + $global:__repoconf_pause
    } else {
        $global:__repoconf_pause = 0
    }
    $global:__repoconf_place = $key
}

function global:__repoconf_is_stale {
    if ($global:__repoconf_retry -gt 0 -and [System.DateTimeOffset]::UtcNow.ToUnixTimeSeconds() -ge $global:__repoconf_retry) {
        return $true
    }
    for ($index = 0; $index -lt $global:__repoconf_files.Count; $index += 1) {
        $text = __repoconf_read $global:__repoconf_files[$index]
        if (-not [string]::Equals($text, $global:__repoconf_known[$index])) {
            return $true
        }
    }
    return $false
}

function global:__repoconf_ask {
    $global:__repoconf_tree = ''
    $global:__repoconf_main = ''
    $global:__repoconf_made = ''
    try {
        $code = __repoconf_run_command
        # An answer counts if it is whole.
        $end = [string] [char] 10 + '$global:__repoconf_made = ''__MADE__''' + [string] [char] 10
        if ($code.EndsWith($end, [System.StringComparison]::Ordinal)) {
            Microsoft.PowerShell.Utility\Invoke-Expression $code
        }
    } catch {
        $global:__repoconf_made = ''
    }
    if ($global:__repoconf_made.Length -eq 0) {
        __repoconf_note 'The hook cannot run repoconf, or it was upgraded since this shell began, so no environment is loaded. Open a new shell.'
        $global:__repoconf_is_temporary = '1'
    }
}

function global:__repoconf_run_command {
    $start = [System.Diagnostics.ProcessStartInfo]::new($global:__repoconf_self[0])
    $words = [string[]] $global:__repoconf_self + 'hook-load' + 'pwsh'
    if ($global:__repoconf_starts.Length -gt 0) {
        $words += '--start'
    }
    for ($index = 1; $index -lt $words.Count; $index += 1) {
        $start.ArgumentList.Add($words[$index])
    }
    $start.Environment['REPOCONF_HOME'] = $global:__repoconf_home
    $start.WorkingDirectory = $ExecutionContext.SessionState.Path.CurrentFileSystemLocation.ProviderPath
    $start.UseShellExecute = $false
    $start.RedirectStandardInput = $true
    $start.RedirectStandardOutput = $true
    $start.RedirectStandardError = $true
    $start.StandardOutputEncoding = [System.Text.Encoding]::UTF8
    $process = [System.Diagnostics.Process]::Start($start)
    try {
        $process.StandardInput.Close()
        # Read too, or a command with a long message would wait for ever.
        $ignored = $process.StandardError.ReadToEndAsync()
        return $process.StandardOutput.ReadToEnd()
    } finally {
        $process.Dispose()
    }
}

function global:__repoconf_at {
    $global:__repoconf_id = $args[0]
}

function global:__repoconf_worktree {
    $global:__repoconf_tree = $args[0]
    $global:__repoconf_main = $args[1].TrimEnd([char] '/')
}

function global:__repoconf_watch {
    $global:__repoconf_files.Add($args[0])
    if ($args.Count -eq 1) {
        $global:__repoconf_known.Add((__repoconf_read $args[0]))
    } else {
        $global:__repoconf_known.Add($args[1])
    }
}

function global:__repoconf_note {
    $global:__repoconf_notes.Add($args[0])
}
`;

/** How the hook begins, once all its functions are there. */
export const pwshStart = String.raw`
# Once in a shell: whatever was made of the prompt since then calls this one.
if ($null -eq (Microsoft.PowerShell.Utility\Get-Variable -Name __repoconf_prompt -Scope Global -ErrorAction Ignore)) {
    $global:__repoconf_prompt = $function:prompt
    # Windows does not tell apart upper and lower case in names.
    $global:__repoconf_comparer = [System.StringComparer]::Ordinal
    if ([System.IO.Path]::DirectorySeparatorChar -ne '/') {
        $global:__repoconf_comparer = [System.StringComparer]::OrdinalIgnoreCase
    }
    # Of their members, only functions are used: .Count would be the variable of that name.
    $global:__repoconf_owns = [System.Collections.Generic.Dictionary[string, object]]::new($global:__repoconf_comparer)
    $global:__repoconf_befores = [System.Collections.Generic.Dictionary[string, object]]::new($global:__repoconf_comparer)
    $global:__repoconf_files = [System.Collections.Generic.List[string]]::new()
    $global:__repoconf_known = [System.Collections.Generic.List[string]]::new()
    # .NET before 9, which PowerShell 7.5 brings, removes a variable that is set to an empty text.
    $global:__repoconf_keeps_empty = [System.Environment]::Version.Major -ge 9
    $global:__repoconf_repository = ''
    $global:__repoconf_said = ''
    $global:__repoconf_tree = ''
    $global:__repoconf_main = ''
    $global:__repoconf_retry = 0
    $global:__repoconf_pause = 0
    __repoconf_inherit
    function global:prompt {
        $succeeded = $?
        $errors = $global:Error.Count
        try {
            $null = __repoconf_step
        } catch {
            $Host.UI.WriteErrorLine("repoconf: $_")
        }
        while ($global:Error.Count -gt $errors) {
            $global:Error.RemoveAt(0)
        }
        # The prompt that was there sees the status of the user's command. No program was started by PowerShell, so $LASTEXITCODE is as it was.
        if (-not $succeeded) {
            Microsoft.PowerShell.Utility\Write-Error -Message 'repoconf' -ErrorAction Ignore
        }
        & $global:__repoconf_prompt
    }
}
$global:__repoconf_place = '-'
$global:__repoconf_home = __HOME__
$global:__repoconf_starts = '__START_FLAG__'
$global:__repoconf_self = @(& { $args } __SELF__)
`;
