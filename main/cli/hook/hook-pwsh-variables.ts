/**
 * What the machine does with variables in PowerShell. Only those of the environment count, and none is read-only. Of each, by its name, what
 * the hook gave it is in the list `__repoconf_owns`, the last value first, and what was there before in `__repoconf_befores`, `$null` for unset.
 */
export const pwshVariables = String.raw`
function global:__repoconf_set {
    $name, $text = $args
    $owns = $global:__repoconf_owns
    if ($owns.ContainsKey($name) -and [string]::Equals($owns[$name][0], $text) -and (__repoconf_may_stay $name)) {
        $null = $global:__repoconf_kept.Add($name)
        return
    }
    # Recorded before it is set, so that Ctrl+C in between loses nothing.
    if (-not $owns.ContainsKey($name)) {
        $global:__repoconf_befores[$name] = [System.Environment]::GetEnvironmentVariable($name)
        $owns[$name] = [System.Collections.Generic.List[string]]::new()
    }
    if (($owns[$name] -join '').Length -gt 16384) {
        $owns[$name].Clear()
    }
    $owns[$name].Insert(0, $text)
    $null = $global:__repoconf_kept.Add($name)
    [System.Environment]::SetEnvironmentVariable($name, $text)
    if ($text.Length -eq 0 -and -not $global:__repoconf_keeps_empty) {
        __repoconf_note "$name is empty, and PowerShell before 7.5 has no empty variables, so it is not set."
    }
}

# In the same repository, what was changed meanwhile stays.
function global:__repoconf_may_stay {
    return [string]::Equals($global:__repoconf_id, $global:__repoconf_repository) -or (__repoconf_is_own $args[0])
}

# Whether a variable has a value that the hook gave it. Another hook may have brought back an earlier one.
function global:__repoconf_is_own {
    $text = [System.Environment]::GetEnvironmentVariable($args[0])
    if ($null -eq $text) {
        if ($global:__repoconf_keeps_empty) {
            return $false
        }
        $text = ''
    }
    return $global:__repoconf_owns[$args[0]].Contains($text)
}

function global:__repoconf_take_back {
    $name = $args[0]
    if (__repoconf_is_own $name) {
        __repoconf_put $name $global:__repoconf_befores[$name]
    }
    $null = $global:__repoconf_owns.Remove($name)
    $null = $global:__repoconf_befores.Remove($name)
}

# PowerShell makes an empty text of $null where .NET wants a text.
function global:__repoconf_put {
    if ($null -eq $args[1]) {
        [System.Environment]::SetEnvironmentVariable($args[0], [System.Management.Automation.Language.NullString]::Value)
    } else {
        [System.Environment]::SetEnvironmentVariable($args[0], $args[1])
    }
}

function global:__repoconf_sweep {
    foreach ($name in @($global:__repoconf_owns.get_Keys())) {
        if (-not $global:__repoconf_kept.Contains($name)) {
            __repoconf_take_back $name
        }
    }
}

# For nested shells, of any kind: the number of variables, three lines for each, and a last line, by which it is known to be whole.
function global:__repoconf_save {
    $lines = [System.Collections.Generic.List[string]]::new()
    $lines.Add($global:__repoconf_owns.get_Count().ToString())
    foreach ($name in $global:__repoconf_owns.get_Keys()) {
        $owns = [System.Collections.Generic.List[string]]::new()
        foreach ($text in $global:__repoconf_owns[$name]) {
            $owns.Add((__repoconf_escape (__repoconf_escape $text)))
        }
        $before = $global:__repoconf_befores[$name]
        if ($null -eq $before) {
            $lines.Add("unset $name")
        } else {
            $lines.Add("exported $name")
        }
        $lines.Add('\n' + ($owns -join '\n') + '\n')
        $lines.Add((__repoconf_escape $before))
    }
    $lines.Add('.')
    $state = $lines -join [string] [char] 10
    # No program can be started with a variable that is too long.
    if ($global:__repoconf_owns.get_Count() -gt 0 -and $state.Length -le 32768) {
        __repoconf_put REPOCONF_HOOK_STATE $state
    } else {
        __repoconf_put REPOCONF_HOOK_STATE $null
    }
}

# What the hook of the shell around this one has set, whole or not at all.
function global:__repoconf_inherit {
    $lines = ([string] [System.Environment]::GetEnvironmentVariable('REPOCONF_HOOK_STATE')).Split([char] 10)
    $isWhole = $lines[0] -cmatch '\A[0-9]{1,4}\z' -and $lines.Count -eq [int] $lines[0] * 3 + 2 -and $lines[-1] -ceq '.'
    for ($index = 1; $isWhole -and $index -lt $lines.Count - 1; $index += 3) {
        $isWhole = $lines[$index] -cmatch '\A(exported|unset|plain) [A-Za-z_][A-Za-z0-9_]*\z'
    }
    if (-not $isWhole) {
        return
    }
    for ($index = 1; $index -lt $lines.Count - 1; $index += 3) {
        $kind, $name = $lines[$index].Split([char] ' ')
        $owns = [System.Collections.Generic.List[string]]::new()
        $texts = (__repoconf_unescape $lines[$index + 1]).Split([char] 10)
        for ($one = 1; $one -lt $texts.Count - 1; $one += 1) {
            $owns.Add((__repoconf_unescape $texts[$one]))
        }
        $global:__repoconf_owns[$name] = $owns
        # What is not exported, this shell does not have.
        $global:__repoconf_befores[$name] = $null
        if ($kind -ceq 'exported') {
            $global:__repoconf_befores[$name] = __repoconf_unescape $lines[$index + 2]
        }
    }
}

function global:__repoconf_escape {
    return ([string] $args[0]).Replace('\', '\\').Replace([string] [char] 10, '\n')
}

# No variable has a NUL in it.
function global:__repoconf_unescape {
    $nul = [string] [char] 0
    return ([string] $args[0]).Replace('\\', $nul).Replace('\n', [string] [char] 10).Replace($nul, '\')
}
`;
