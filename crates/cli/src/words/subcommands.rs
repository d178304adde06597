//! What the subcommands say that have a few sentences each, in the order of `windlass --help`.

use std::fmt::Display;

/// A function for each text with places to fill in.
macro_rules! texts {
    ($($name:ident($($place:ident),+): $text:literal;)*) => {
        $(pub(crate) fn $name($($place: &dyn Display),+) -> String {
            format!($text)
        })*
    };
}

// `windlass rehearse` and `windlass record`.

texts! {
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
pub(crate) const FORKED: &str = "Forked as it is now\n";
pub(crate) const PACKED_WITHOUT_FILES: &str = "without the files of its directory";
pub(crate) const REPLAY_MATCHES: &str = "Replay matches: all decisions identical.\n";
pub(crate) const REPORT_REPLAYS: &str = "It replays like the session does";
pub(crate) const REPORT_DIFFERS: &str =
    "It does not replay like the session does, which is part of the report";

texts! {
    describe_unknown_session_id(id, advice): "there is no session with the id `{id}`; {advice}";
    describe_similar_session(id): "the full id is needed; did you mean {id}?";
    describe_not_in_trash(id, trash): "there is no session `{id}` in the trash {trash}; `windlass \
        sessions restore` lists what is there";
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
    describe_unpacked(session, files): "Unpacked session {session} with {files}\n";
    describe_replay_difference(record, note): "Replay differs: record {record} says {note}, which \
        does not follow now.\n";
    describe_unwritable_report(path, error): "{path} cannot be written: {error}; name another file: \
        -o FILE";
    describe_report(path, bytes, note): "{path} ({bytes} bytes)\n{note}: windlass replay {path}\nWhat \
        was said, files, keys and paths are not in it; sizes, times, names of tools and models are.\n";
    describe_no_context_yet(session): "no run of the session {session} has ended yet; ask it \
        instead: windlass -p \"/context\" -r {session}";
}

// `windlass permission`, `trust` and `hooks`.

pub(crate) const NO_TRUST_STORE: &str = "there is no home directory to remember it in; set HOME";
pub(crate) const NOTHING_TRUSTED: &str = "No project is trusted.\n";
pub(crate) const HOOK_EVENT_UNUSED: &str = " (never runs here)";
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
    describe_no_matching_hook(event): "No hook matches {event}.\n";
}

// `windlass key` and `windlass auth`.

pub(crate) const KEY_COLUMN: &str = "key comes from";
pub(crate) const KEY_NOT_NEEDED: &str = "not needed";
pub(crate) const KEY_ORDER: &str = "
Looked for in this order: environment, key_file or key_command of config.toml, key ring.
`windlass key set PROVIDER` puts one into the key ring.
";
pub(crate) const KEY_MISSING: &str = "no key came";
pub(crate) const KEY_TOO_LONG: &str = "that is too long for a key";
pub(crate) const KEY_WITH_BLANKS: &str = "a key is one word without blanks";
pub(crate) const KEY_WITH_OTHER_LETTERS: &str = "it contains characters that no key has";
pub(crate) const KEY_TIMEOUT: &str = "no input arrived in time";
pub(crate) const NO_LOGIN: &str = "there is no login: a key is stored with `windlass key set \
    PROVIDER` and removed with `windlass key remove PROVIDER`";

texts! {
    describe_key_sources(first, unused): "{first}; not used: {unused}";
    describe_unreadable_keyring(error): "The key ring cannot be read: {error}.\n";
    describe_unknown_provider(known, config): "there is no such provider; there are {known}; another \
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
    describe_no_event_queue(error): "the system provides no event queue: {error}; close some programs \
        and try again";
    describe_unwritable_output(error): "it could not be written to standard output: {error}";
}
