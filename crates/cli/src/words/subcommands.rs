//! What the subcommands say that have a few sentences each, in the order of `windlass --help`.

use std::fmt::Display;

use windlass_host::display::human_format::format_counted;

/// A function for each text with places to fill in.
macro_rules! texts {
    ($($name:ident($($place:ident),+): $text:literal;)*) => {
        $(pub(crate) fn $name($($place: &dyn Display),+) -> String {
            format!($text)
        })*
    };
}

// `windlass rehearse` and `windlass record`.

pub(crate) const THE_SCRIPT: &str = "the script";
pub(crate) const THE_RECORDING: &str = "the recording";
pub(crate) const NO_ANSWER_FITS: &str = "no answer fits";

texts! {
    introduce_server(what, url): "Serving {what} at {url}. Ctrl-C stops it. In another \
        terminal:\nexport ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=rehearsal\n";
    describe_unstarted_recorder(error): "{error}; see windlass record --help";
    introduce_recorder(name, url, exports): "Recording {name} at {url}. Ctrl-C stops it. In another \
        terminal:\nexport {exports}\n";
    describe_unreadable_script(path, error): "the script {path} cannot be read: {error}; for an \
        example: windlass rehearse --example > script.toml";
    describe_bad_script(path, why): "the script {path}: {why}";
    describe_nothing_recorded(folder): "nothing was recorded in {folder}; if the command asked \
        another provider, name it with --provider";
    describe_recorded(exchanges, folder, bytes, values): "recorded {exchanges} in {folder}, {bytes} \
        bytes, {values} replaced; read them before you share them";
    describe_unrecorded(why): "not recorded: {why}";
    describe_more_unrecorded(more): "{more} more were not recorded";
    describe_cassette_difference(why): "differs from the recording: {why}";
    describe_unused_exchanges(exchanges, first): "not requested: {exchanges}; the first is {first}";
}

// `windlass sessions`, `fork`, `pack`, `unpack`, `replay`, `bugreport`, `context`.

pub(crate) const LIST_ALL_SESSIONS: &str = "`windlass sessions list --all` lists all";
/// The first lines of `sessions show`.
pub(crate) const SESSION_ROWS: [&str; 11] = [
    "session",
    "name",
    "directory",
    "branch",
    "copy of",
    "begun",
    "last",
    "messages",
    "cost",
    "journal",
    "transcript",
];
pub(crate) const FORKED: &str = "Forked as it is now\n";
pub(crate) const PACKED_WITHOUT_FILES: &str = "without the files of its directory";
pub(crate) const REPLAY_MATCHES: &str = "Replay matches: all decisions identical.\n";
pub(crate) const REPORT_REPLAYS: &str = "It replays like the session";
pub(crate) const REPORT_DIFFERS: &str =
    "It does not replay like the session, which is part of the report";

texts! {
    describe_unknown_session_id(id, advice): "there is no session with the id `{id}`; {advice}";
    describe_similar_session(id): "the full id is needed; did you mean {id}?";
    describe_not_in_trash(id, trash): "there is no session `{id}` in the trash {trash}; `windlass \
        sessions restore` lists what is there";
    describe_earlier_lines(hidden, id): "({hidden} earlier lines: windlass sessions export {id})\n";
    describe_summary(text): "(history was summarised) {text}\n\n";
    describe_restored(id): "Restored session {id}; continue with: windlass -r {id}\n";
    describe_fork_point(point): "Forked before {point}\n";
    describe_copied_files(files, folder): "Copied {files} to {folder}\n";
    describe_missing_files(names): "Not copied: {names}\n";
    describe_next_command(command): "Continue: {command}\n";
    describe_resume(session): "windlass -r {session}";
    describe_resume_in(folder, session): "cd {folder} && windlass -r {session}";
    describe_packed_contents(contents): "with {contents} contents of its directory";
    describe_packed(session, files, file, kib): "Packed session {session} {files}: {file} ({kib} \
        KiB)\nContinue elsewhere: windlass unpack {file}\n";
    describe_late_command(command): "a command comes before all flags; see windlass {command} --help for those it takes";
    describe_surplus_word(word, page): "unexpected argument `{word}`; see {page} --help";
    describe_unquoted_prompt(word, prompt): "the prompt must be one argument, and `{word}` is another; quote it: \"{prompt}\"";
    describe_left_out_files(names): "Left out, because they hold a key: {names}\n";
    describe_unpacked(session, files): "Unpacked session {session} with {files}\n";
    describe_unrecorded_decisions(count): ", {count} not recorded then";
    describe_replay_difference(record, note): "Replay differs: record {record} says {note}, but \
        a replay decides otherwise.\n";
    describe_unwritable_report(path, error): "{path} cannot be written: {error}; name another file: \
        -o FILE";
    describe_report(path, bytes, note): "{path} ({bytes} bytes)\n{note}: windlass replay {path}\nWhat \
        was said, files, keys and paths are not in it; sizes, times, names of tools and models are.\n";
    describe_no_context_yet(session): "no run of the session {session} has ended yet; ask it \
        instead: windlass -p \"/context\" -r {session}";
}

pub(crate) fn describe_damaged_lines(lines: usize) -> String {
    format!(", {} ignored", format_counted(lines, "damaged line"))
}

// `windlass models` and `stats`.

pub(crate) const KEY_SET: &str = "set";
pub(crate) const NO_TOOLS: &str = "no tools";
pub(crate) const UNKNOWN_DAY: &str = "an unknown day";
pub(crate) const MODEL_COLUMNS: [&str; 8] =
    ["model", "window", "output", "in", "out", "cached", "key", ""];
pub(crate) const STATS_ROWS: [&str; 8] = [
    "requests",
    "fresh input",
    "cache written",
    "cache read",
    "output",
    "cost",
    "input predicted",
    "cache misses",
];
pub(crate) const STATS_SNAPSHOTS: &str = "snapshots";
pub(crate) const STATS_MORE: &str = "    --json lists more\n";

texts! {
    describe_no_such_model(part): "no known model has `{part}` in its name; `windlass models` lists \
        all, and one that is not listed can be asked all the same";
    explain_models(day, path): "\nWindow and output in tokens; dollars per million tokens, as of {day}; \
        where a price depends on\nthe length of the prompt, the higher one. Other models work, too, \
        as provider/name. To add or\ncorrect a row: {path}\n";
    title_session(id): "Session {id}\n";
    count_tokens(count): "{count} tokens";
    describe_cache_reads(read, predicted): "{read} tokens, {predicted} predicted";
    describe_median_errors(first, last): "median error {first} in the first half, {last} in the last";
    describe_cache_miss(at, model, read, predicted, why): "    {at} {model}: {read} of {predicted} \
        tokens read: {why}\n";
    describe_snapshots(kib, contents): "{kib} KiB, {contents} contents of the directory";
}

// `windlass permission`, `trust` and `hooks`.

pub(crate) const NO_TRUST_STORE: &str = "there is no home directory to remember it in; set HOME";
pub(crate) const NOTHING_TRUSTED: &str = "No project is trusted.\n";
pub(crate) const HOOK_EVENT_UNUSED: &str = " (never runs here)";
pub(crate) const NO_HOOKS: &str = "No hooks.\n";
pub(crate) const HOOK_FAILED: &str = "failed";
pub(crate) const HOOK_SAYS: &str = "says";
pub(crate) const HOOK_TELLS_MODEL: &str = "tells the model";
pub(crate) const HOOK_TELLS_USER: &str = "tells you";
pub(crate) const HOOK_CHANGES_INPUT: &str = "changes the input to";
pub(crate) const HOOK_WROTE: &str = "wrote";
pub(crate) const HOOK_WROTE_ERRORS: &str = "wrote to standard error";
pub(crate) const HOOK_NO_OPINION: &str = "no opinion";
pub(crate) const HOOK_ALLOWS: &str = "allow; deny and ask rules still hold";
pub(crate) const HOOK_INPUT_IS_OBJECT: &str = "--input: give a JSON object";

texts! {
    describe_idle_rule(rule, why): "`{rule}` would never allow anything: {why}";
    describe_saved_rules(file, rules): "{file} allows {rules}";
    describe_bad_tool_input(tool, error): "the input of {tool} must be JSON: {error}";
    describe_rule_origin(source): "\nThe rule is in {source}\n";
    describe_rule_width(width): "\nThe rule is wide: {width}.\n";
    describe_forgotten_project(root): "{root} is no longer trusted\n";
    describe_unknown_project(root): "{root} was not trusted\n";
    describe_unknown_endpoint(root, host): "the settings of {root} send nothing to {host}; `windlass \
        trust --show` lists what they want";
    describe_trusted_endpoint(host, root): "Keys may be sent to {host} in {root}\n";
    describe_no_directory(path): "{path} is not a directory";
    describe_unknown_event(name, all): "there is no event `{name}`; the events are {all}";
    describe_similar_event(name, similar, all): "there is no event `{name}`; did you mean {similar}? \
        The events are {all}";
    describe_unreadable_cases(problem): "cannot be read: {problem}";
    describe_long_case(bytes): "longer than {bytes} bytes";
    describe_case_without_text(error): "not text: {error}";
    describe_exit_code(code): ", exit code {code}";
    describe_combined(verdict): "together: {verdict}\n";
    describe_combined_answer(answer): "together, to the question: {answer}\n";
    describe_hook_ask(why): "ask: {why}";
    describe_hook_defer(why): "defer: {why}";
    describe_hook_block(why): "no: {why}";
    describe_hook_halt(why): "end the run: {why}";
    describe_no_matching_hook(event): "No hook matches {event}.\n";
}

// `windlass key` and `windlass auth`.

pub(crate) const KEY_COLUMN: &str = "key comes from";
pub(crate) const KEY_NOT_NEEDED: &str = "not needed";
pub(crate) const KEY_ORDER: &str = "
Looked for in this order: environment, key_file or key_command of config.toml, key ring.
`windlass key set PROVIDER` puts one into the key ring.
";
pub(crate) const KEY_TIMEOUT: &str = "no input arrived in time";
pub(crate) const KEY_USAGE: &str = "unknown arguments; use `windlass key set PROVIDER`, `windlass key \
    list` or `windlass key remove PROVIDER`; see windlass key --help";
pub(crate) const SOME_CONFIG: &str = "your config.toml";
pub(crate) const NO_LOGIN: &str = "there is no login: a key is stored with `windlass key set \
    PROVIDER` and removed with `windlass key remove PROVIDER`";

texts! {
    describe_key_as_argument(provider): "a key is not taken from the command line, where other \
        programs and the shell's history see it; run `windlass key set {provider}` and type it, or \
        pipe it in";
    describe_key_sources(first, unused): "{first}; not used: {unused}";
    describe_unreadable_keyring(error): "The key ring cannot be read: {error}.\n";
    describe_unknown_provider(known, config): "there is no such provider; known are {known}; another \
        one needs [provider.NAME] in {config}";
    describe_keyring_off(provider, config): "the key ring is turned off for {provider}; remove \
        `keyring = false` from [provider.{provider}] in {config}";
    describe_keyless_provider(provider, config): "{provider} takes no key; if yours does, add \
        `keyring = true` to [provider.{provider}] in {config}";
    describe_no_key_origin(provider): "no key can be sent to the address of {provider}";
    ask_for_key(provider): "Key for {provider} (it is not shown): ";
    describe_refused_key(problem, provider): "{problem}; run `windlass key set {provider}` and type \
        the key, or pipe it in: `windlass key set {provider} < FILE`";
    describe_unreadable_key(error): "the key cannot be read from standard input: {error}; try again";
    describe_stored_key(provider, origin): "Stored the key for {provider} in the key ring. It is sent \
        only to {origin}.\n";
    describe_key_before(source): "Another key is used before it: {source}.\n";
    describe_removed_key(provider): "Removed the key for {provider} from the key ring.\n";
    describe_key_left(provider, source): "Removed the key for {provider} from the key ring. Another \
        key is still used: {source}.\n";
    describe_no_stored_key(provider): "there is no key for {provider} in the key ring";
    describe_key_elsewhere(provider, source): "there is no key for {provider} in the key ring; it \
        comes from elsewhere: {source}";
    describe_unusable_keyring(error, instead): "the key ring cannot be used: {error}; {instead}";
    advise_variable(variable): "or use the environment: export {variable}=...";
    advise_key_file(provider, config): "or name a key_file in [provider.{provider}] in {config}";
    describe_key_present(provider): "There is a key for {provider}.";
    describe_key_absent(provider): "There is no key for {provider}; store one with `windlass key set \
        {provider}`.";
}

// `windlass mcp`.

pub(crate) const NO_MCP_SERVERS: &str = "No MCP servers; add one with `windlass mcp add`\n";
pub(crate) const MCP_LOGIN_NEEDS_HTTP: &str =
    "--client-id and --callback-port are for servers over HTTP; add --transport http";
pub(crate) const MCP_NEEDS_TRUST: &str =
    "everyone who uses the project must trust it first: windlass trust\n";
pub(crate) const NO_HOME: &str = "there is no home directory; set HOME";

texts! {
    describe_login(address): "Log in here: {address}";
    describe_bad_pair(value, what, separator): "`{value}` is not a valid {what}; write \
        NAME{separator}VALUE";
    describe_bad_entry(error): "the entry is not JSON: {error}";
    describe_bad_server_name(name): "`{name}` cannot be a server's name; use letters, digits, - and _";
    describe_added_server(name, file): "added `{name}` in {file}\n";
    describe_replaced_server(name, file): "replaced `{name}` in {file}\n";
    describe_removed_server(name, file): "removed `{name}` from {file}\n";
    describe_unusable_server(why): "it cannot be used: {why}";
    describe_unknown_server(name): "there is no MCP server `{name}`; see `windlass mcp list`";
}

// The program itself.

texts! {
    describe_missing_program(name, program): "`windlass {name}` needs the program {program}, which is \
        not installed; put it beside `windlass` or on the PATH";
    describe_unstarted_program(program, error): "{program} cannot be started: {error}";
    describe_no_event_queue(error): "the system provides no event queue: {error}; close some programs \
        and try again";
    describe_unwritable_output(error): "it could not be written to standard output: {error}";
}
