/**
 * The machine (hook-machine.ts) in the words of fish, where `set` keeps the status of what was before it, and a function does not see the
 * locals of the one that calls it. What it does with variables is in hook-fish-variables.ts.
 */
export const fishMachine = String.raw`
# The text of a regular file: no link is followed. fish reads no more than it lets a command print.
function __repoconf_read
    set -g __repoconf_text ''
    if not test -L "$argv[1]"; and test -f "$argv[1]"; and test -r "$argv[1]"
        read -z -g __repoconf_text <"$argv[1]"
    end
end

# Texts that are made of paths end in "/", because a substitution takes line ends at the end for its own.
function __repoconf_where
    set -g __repoconf_key ''
    set -l __repoconf_lines (builtin pwd -P 2>/dev/null)
    set -l __repoconf_folder "$__repoconf_lines[1]"
    set -e __repoconf_lines[1]
    for __repoconf_line in $__repoconf_lines
        set __repoconf_folder $__repoconf_folder\n$__repoconf_line
    end
    # Nowhere, and without a parent.
    string match -q '/*' -- "$__repoconf_folder"; or return 0
    if not test -d "$__repoconf_home/folders"
        # Nothing says which folders were added, so each one is another place.
        set -g __repoconf_key "?$PWD"
        return 0
    end
    test "$__repoconf_folder" = /; or set __repoconf_folder "$__repoconf_folder/"
    set -l __repoconf_length (string length -- "$__repoconf_tree/")
    while true
        if test -e "$__repoconf_home/folders$__repoconf_folder"__MARK__
            set -g __repoconf_key "+$__repoconf_folder"
            return 0
        end
        if test -n "$__repoconf_tree"
            set -l __repoconf_part (string sub -l $__repoconf_length -- "$__repoconf_folder" | string collect)
            set -l __repoconf_rest (string sub -s (math $__repoconf_length + 1) -- "$__repoconf_folder" | string collect)
            if test "x$__repoconf_part" = "x$__repoconf_tree/"; and test -e "$__repoconf_home/folders$__repoconf_main/$__repoconf_rest"__MARK__
                set -g __repoconf_key "=$__repoconf_folder"
                return 0
            end
        end
        if test -f "$__repoconf_folder".git
            # A linked worktree, or a submodule.
            set -g __repoconf_key ".$__repoconf_folder"
            return 0
        end
        if test -d "$__repoconf_folder".git; or test "$__repoconf_folder" = /
            return 0
        end
        set __repoconf_folder (string replace -r '[^/]*/\z' '' -- "$__repoconf_folder" | string collect)
    end
end

function __repoconf_step
    set -g __repoconf_notes
    set -g __repoconf_is_temporary
    set -g __repoconf_id ''
    set -g __repoconf_kept
    __repoconf_where
    if test "x$__repoconf_key" = "x$__repoconf_place"
        __repoconf_is_stale; or return 0
    else
        set -g __repoconf_pause 0
    end
    set -g __repoconf_place -
    set -g __repoconf_files
    set -g __repoconf_known
    set -g __repoconf_retry
    if test -n "$__repoconf_key"
        __repoconf_ask
        # The answer may have named the linked worktree.
        __repoconf_where
    end
    set -g __repoconf_repository $__repoconf_id
    __repoconf_sweep
    __repoconf_save
    if test -n "$__repoconf_notes"; and test "x$__repoconf_notes" != "x$__repoconf_said"
        builtin printf 'repoconf: %s\n' "$__repoconf_notes" >&2
    end
    set -g __repoconf_said "$__repoconf_notes"
    if test -n "$__repoconf_is_temporary"
        # 10 seconds, then twice as long each time, up to 5 minutes.
        set -g __repoconf_pause (math "min(300, max(10, $__repoconf_pause * 2))")
        set -g __repoconf_retry (math (command date +%s) + $__repoconf_pause)
    else
        set -g __repoconf_pause 0
    end
    set -g __repoconf_place $__repoconf_key
    set -g __repoconf_seen $PWD
end

function __repoconf_is_stale
    # fish has no clock of its own, so until a failure has passed, each prompt starts one.
    if test -n "$__repoconf_retry"; and test (command date +%s) -ge $__repoconf_retry
        return 0
    end
    set -l __repoconf_index 1
    for __repoconf_file in $__repoconf_files
        __repoconf_read $__repoconf_file
        test "x$__repoconf_text" = "x$__repoconf_known[$__repoconf_index]"; or return 0
        set __repoconf_index (math $__repoconf_index + 1)
    end
    return 1
end

function __repoconf_ask
    set -g __repoconf_code
    set -g __repoconf_made
    set -g __repoconf_needs_command
    set -g __repoconf_tree ''
    set -g __repoconf_main ''
    set -g __repoconf_endpoint ''
    __repoconf_find_daemon
    set -g __repoconf_status $status
    if test $__repoconf_status -eq 0
        __repoconf_run_curl
        set -e -g __repoconf_secret
        __repoconf_evaluate
    end
    if test $__repoconf_status -eq 7; and test -z "$__repoconf_starts"
        __repoconf_note "No daemon is running, so no environment was loaded. Most commands start one, for example repoconf list."
        # The next daemon writes another one.
        __repoconf_watch "$__repoconf_home/daemon.json" "$__repoconf_endpoint"
    else if test $__repoconf_status -eq 28
        __repoconf_note "The daemon does not answer. To see why: repoconf doctor"
        set -g __repoconf_is_temporary 1
    else if test -z "$__repoconf_made"; or test -n "$__repoconf_needs_command"
        __repoconf_run_command
        __repoconf_evaluate
        if test -z "$__repoconf_made"
            __repoconf_note "The hook cannot run repoconf, or it was upgraded since this shell began, so no environment is loaded. Open a new shell."
            set -g __repoconf_is_temporary 1
        end
    end
end

# An answer counts if it is whole.
function __repoconf_evaluate
    set -g __repoconf_made
    set -g __repoconf_needs_command
    if string match -qr '\nset -g __repoconf_made __MADE__\n*\z' -- "$__repoconf_code"
        eval "$__repoconf_code"
    end
    set -g __repoconf_code
end

# What a request needs. Returns 7 if no daemon is running, and 1 if only the command can or may ask it.
function __repoconf_find_daemon
    __repoconf_read "$__repoconf_home/daemon.json"
    test -n "$__repoconf_text"; or return 7
    set -g __repoconf_endpoint $__repoconf_text
    string match -q '*"version": "__VERSION__"*"socket": "*' -- "$__repoconf_text"; or return 1
    set -l __repoconf_name (string replace -r '\A[\s\S]*"socket": "([^"\n]*)"[\s\S]*\z' '$1' -- "$__repoconf_text" | string split / )[-1]
    set -g __repoconf_socket "$__repoconf_home/socket/$__repoconf_name"
    # The key is only sent into a socket that no other user can have made. That its folder is private was seen before.
    if test -z "$__repoconf_checked"; or test -n "$REPOCONF_API_KEY"; or test -L "$__repoconf_home/socket"; or not test -O "$__repoconf_home/socket"
        return 1
    end
    if test -L "$__repoconf_socket"; or not test -S "$__repoconf_socket"; or not test -O "$__repoconf_socket"; or test (string length -- "$__repoconf_socket") -gt 100
        return 1
    end
    # JSON has these characters in another form.
    string match -qr '[[:cntrl:]]' -- "$PWD"; and return 1
    __repoconf_read "$__repoconf_home/owner.key"
    set -g __repoconf_secret (string match -r '\A[A-Za-z0-9_-]+' -- "$__repoconf_text"); or return 1
    set -l __repoconf_path (string replace -a -r '["\\\\]' '\\\\$0' -- "$PWD")
    set -g __repoconf_body "{\"path\":\"$__repoconf_path\",\"shell\":\"fish\"}"
    return 0
end

# The key is on standard input: arguments can be read by other users. A configuration or a proxy of the user must not lead elsewhere.
function __repoconf_run_curl
    set -g __repoconf_status 1
    test -n "$__repoconf_curl"; or return 0
    set -g __repoconf_code (
        builtin printf 'header = "Authorization: Bearer %s"\n' $__repoconf_secret |
            $__repoconf_curl -q --silent --fail --config - --max-time 5 --noproxy '*' --unix-socket "$__repoconf_socket" --header 'Accept: text/plain' --header 'Content-Type: application/json' --header 'Expect:' --data-raw "$__repoconf_body" http://localhost/svc/config/hook 2>/dev/null |
            string collect -N
        set -g __repoconf_status $pipestatus[2]
    )
end

function __repoconf_run_command
    set -g __repoconf_code (
        begin
            set -lx REPOCONF_HOME $__repoconf_home
            if not command -sq repoconf; or not command repoconf hook-load fish __START__
                __SELF__ hook-load fish __START__
            end
        end </dev/null 2>/dev/null | string collect -N
    )
end

function __repoconf_at
    set -g __repoconf_id $argv[1]
end

function __repoconf_worktree
    set -g __repoconf_tree $argv[1]
    set -g __repoconf_main (string replace -r '/\z' '' -- $argv[2])
end

function __repoconf_watch
    set -g __repoconf_text "$argv[2]"
    if test (count $argv) -eq 1
        __repoconf_read $argv[1]
    end
    set -g -a __repoconf_files $argv[1]
    set -g -a __repoconf_known "$__repoconf_text"
end

function __repoconf_note
    set -g -a __repoconf_notes $argv[1]
end
`;

/** How the hook begins, once all its functions are there. */
export const fishStart = `
# Defined again after each command, which makes it the last one: other tools, such as direnv, take back what they set without a look, so
# they must do that first.
function __repoconf_install --on-event fish_postexec
    function __repoconf_hook --on-event fish_prompt
        __repoconf_step
    end
end

# Alt and an arrow key change the folder without a new prompt.
function __repoconf_before_command --on-event fish_preexec
    test "x$PWD" = "x$__repoconf_seen"; or __repoconf_step
end

if not set -qg __repoconf_names; or set -qgx __repoconf_names
    # Not sourced before in this shell. Texts may come from one around it that exports everything.
    for __repoconf_name in (set -gn | string match '__repoconf_*')
        set -e -g $__repoconf_name
    end
    set -g __repoconf_names
    set -g __repoconf_repository ''
    set -g __repoconf_said ''
    set -g __repoconf_tree ''
    set -g __repoconf_main ''
    set -g __repoconf_retry
    set -g __repoconf_pause 0
    __repoconf_inherit
end
set -g __repoconf_place -
set -g __repoconf_home __HOME__
set -g __repoconf_checked __CHECKED__
set -g __repoconf_starts __START_FLAG__
set -g __repoconf_curl (command -s curl | string match '/*')
__repoconf_install
`;
