/**
 * What the machine does with variables in fish, where they are lists: in the environment, that is a text with ":" between the items if the
 * name ends in PATH. Names that the hook makes end in "_", so that fish does not take them for such. No fish has arrays by name, so what is
 * remembered of a variable NAME is in `__repoconf_kind_NAME_`, `__repoconf_owns_NAME_`, and `__repoconf_before_NAME_`, which is the text and then
 * the items.
 */
export const fishVariables = String.raw`
# What a variable is now: unset, plain, exported, or anything else, which is left alone. Only globals count: those of fish for all
# sessions are below them and come back by themselves.
function __repoconf_examine
    set -g __repoconf_kind other
    set -g __repoconf_text ''
    set -g __repoconf_items
    set -l __repoconf_name $argv[1]
    contains -- $__repoconf_name PWD umask argv; and return 0
    if not set -qg $__repoconf_name
        set -g __repoconf_kind unset
        return 0
    end
    set -g __repoconf_kind plain
    set -qgx $__repoconf_name; and set -g __repoconf_kind exported
    set -g __repoconf_text "$$__repoconf_name"
    set -g __repoconf_items $$__repoconf_name
end

function __repoconf_put
    # set keeps this status unless it fails.
    true
    switch $argv[2]
        case exported
            set -gx $argv[1] $argv[3..]
        case plain
            set -gu $argv[1] $argv[3..]
        case '*'
            set -e -g $argv[1]
    end 2>/dev/null
end

function __repoconf_set
    set -l __repoconf_kinds __repoconf_kind_$argv[1]_
    set -l __repoconf_owns __repoconf_owns_$argv[1]_
    set -l __repoconf_befores __repoconf_before_$argv[1]_
    set -l __repoconf_value $$__repoconf_owns
    if contains -- $argv[1] $__repoconf_names; and test "x$__repoconf_value[1]" = "x$argv[2]"; and __repoconf_may_stay $argv[1]
        set -g -a __repoconf_kept $argv[1]
        return 0
    end
    __repoconf_examine $argv[1]
    if test $__repoconf_kind != other
        # Recorded before it is set, so that Ctrl+C in between loses nothing.
        if not contains -- $argv[1] $__repoconf_names
            set -g $__repoconf_kinds $__repoconf_kind
            set -g $__repoconf_befores "$__repoconf_text" $__repoconf_items
            set -g $__repoconf_owns
            set -g -a __repoconf_names $argv[1]
        end
        if test (string length -- "$$__repoconf_owns") -gt 16384
            set -g $__repoconf_owns
        end
        set -g -p $__repoconf_owns $argv[2]
        set -g -a __repoconf_kept $argv[1]
        if __repoconf_put $argv[1] exported $argv[2]
            # fish has its own text for an empty item of PATH.
            __repoconf_examine $argv[1]
            contains -- "$__repoconf_text" $$__repoconf_owns; or set -g -a $__repoconf_owns "$__repoconf_text"
            return 0
        end
        __repoconf_forget $argv[1]
    end
    __repoconf_note "$argv[1] is not a plain variable of this shell, so the hook does not change it."
end

# In the same repository, what was changed meanwhile stays.
function __repoconf_may_stay
    test "x$__repoconf_id" = "x$__repoconf_repository"; or __repoconf_is_own $argv[1]
end

# Whether a variable has a value that the hook gave it. Another hook may have brought back an earlier one.
function __repoconf_is_own
    set -l __repoconf_owns __repoconf_owns_$argv[1]_
    __repoconf_examine $argv[1]
    test $__repoconf_kind = exported; or return 1
    test (count $__repoconf_items) -eq 1; or set -qg --path $argv[1]; or return 1
    contains -- "$__repoconf_text" $$__repoconf_owns
end

function __repoconf_take_back
    if __repoconf_is_own $argv[1]
        set -l __repoconf_kinds __repoconf_kind_$argv[1]_
        set -l __repoconf_befores __repoconf_before_$argv[1]_
        set -l __repoconf_before $$__repoconf_befores
        __repoconf_put $argv[1] $$__repoconf_kinds $__repoconf_before[2..]
    end
    __repoconf_forget $argv[1]
end

function __repoconf_forget
    set -g __repoconf_names (string match -v -- $argv[1] $__repoconf_names)
    set -e -g __repoconf_kind_$argv[1]_ __repoconf_owns_$argv[1]_ __repoconf_before_$argv[1]_
end

function __repoconf_sweep
    for __repoconf_one in $__repoconf_names
        contains -- $__repoconf_one $__repoconf_kept; or __repoconf_take_back $__repoconf_one
    end
end

# For nested shells, of any kind: the number of variables, three lines for each, and a last line, by which it is known to be whole.
function __repoconf_save
    set -l __repoconf_lines (count $__repoconf_names)
    for __repoconf_one in $__repoconf_names
        set -l __repoconf_kinds __repoconf_kind_"$__repoconf_one"_
        set -l __repoconf_owns __repoconf_owns_"$__repoconf_one"_
        set -l __repoconf_befores __repoconf_before_"$__repoconf_one"_
        set -l __repoconf_escaped
        for __repoconf_value in $$__repoconf_owns
            set -a __repoconf_escaped (__repoconf_escape (__repoconf_escape "$__repoconf_value"))
        end
        set -a __repoconf_lines "$$__repoconf_kinds $__repoconf_one" '\n'(string join '\n' -- $__repoconf_escaped)'\n'
        set -l __repoconf_before $$__repoconf_befores
        set -a __repoconf_lines (__repoconf_escape "$__repoconf_before[1]")
    end
    set -l __repoconf_state (string join \n -- $__repoconf_lines . | string collect)
    # No program can be started with a variable that is too long.
    if test (count $__repoconf_names) -gt 0; and test (string length -- "$__repoconf_state") -le 32768
        __repoconf_put REPOCONF_HOOK_STATE exported "$__repoconf_state"
    else
        __repoconf_put REPOCONF_HOOK_STATE unset
    end
end

# What the hook of the shell around this one has set, whole or not at all.
function __repoconf_inherit
    set -l __repoconf_lines (string split \n -- "$REPOCONF_HOOK_STATE")
    set -l __repoconf_count $__repoconf_lines[1]
    string match -qr '\A[0-9]{1,4}\z' -- "$__repoconf_count"; or return 0
    test (count $__repoconf_lines) -eq (math "$__repoconf_count * 3 + 2"); and test "x$__repoconf_lines[-1]" = x.; or return 0
    set -e __repoconf_lines[1]
    while test (count $__repoconf_lines) -gt 1
        if not string match -qr '\A(exported|unset|plain) [A-Za-z_][A-Za-z0-9_]*\z' -- "$__repoconf_lines[1]"
            set -g __repoconf_names
            return 0
        end
        set -l __repoconf_words (string split ' ' -- $__repoconf_lines[1])
        set -l __repoconf_one $__repoconf_words[2]
        # What is not exported, this shell does not have.
        test $__repoconf_words[1] = plain; and set __repoconf_words unset
        set -g __repoconf_kind_"$__repoconf_one"_ $__repoconf_words[1]
        set -l __repoconf_owns
        for __repoconf_value in (builtin printf %b "$__repoconf_lines[2]")
            set -a __repoconf_owns (builtin printf %b "$__repoconf_value" | string collect -N --allow-empty)
        end
        set -g __repoconf_owns_"$__repoconf_one"_ $__repoconf_owns[2..]
        set -l __repoconf_before (builtin printf %b "$__repoconf_lines[3]" | string collect -N --allow-empty)
        set -g __repoconf_before_"$__repoconf_one"_ "$__repoconf_before" "$__repoconf_before"
        set -g -a __repoconf_names $__repoconf_one
        set -e __repoconf_lines[1..3]
    end
end

function __repoconf_escape
    string split \n -- "$argv[1]" | string replace -a '\\' '\\\\' | string join '\n'
end
`;
