//! Every tidy rule on small trees that break it. A rule that refuses nothing is no rule.
#![allow(clippy::unwrap_used, reason = "a panic is how a test says no")]

use std::fs;

use serde_json::json;
use xtask::tidy::dependencies::{DependencyPolicy, check_metadata};
use xtask::tidy::{RULES, RepositoryTree, sizes};

/// A crate manifest with this name and these further lines.
fn manifest(name: &str, more: &str) -> String {
    format!("[package]\nname = \"windlass-{name}\"\n\n[lints]\nworkspace = true\n\n{more}\n")
}

fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, RepositoryTree) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let tree = RepositoryTree::read(root.path()).unwrap();
    (root, tree)
}

/// What one rule finds in a small tree.
fn findings(rule: &str, files: &[(&str, &str)]) -> Vec<String> {
    let (_root, tree) = tree(files);
    let rule = RULES.iter().find(|one| one.name == rule).unwrap();
    (rule.check)(&tree).iter().map(ToString::to_string).collect()
}

/// The rule must find something that says `expected` when the file is like this.
fn refuses(rule: &str, files: &[(&str, &str)], expected: &str) {
    let found = findings(rule, files);
    assert!(found.iter().any(|line| line.contains(expected)), "{expected:?} not in {found:#?}");
}

/// The rule must say nothing about a path that starts like this.
fn accepts(rule: &str, files: &[(&str, &str)], path: &str) {
    let found = findings(rule, files);
    assert!(!found.iter().any(|line| line.starts_with(path)), "{found:#?}");
}

#[test]
fn edges_refuses_what_the_table_does_not_list() {
    let upward = manifest("engine", "[dependencies]\nwindlass-tool.workspace = true");
    refuses("edges", &[("crates/engine/Cargo.toml", &upward)], "`engine` may not see `tool`");

    let renamed = manifest(
        "dialect",
        "[dependencies]\nloop = { package = \"windlass-engine\", path = \"../engine\" }",
    );
    refuses("edges", &[("crates/dialect/Cargo.toml", &renamed)], "`dialect` may not see `engine`");

    let shipped = manifest("driver", "[dependencies]\nwindlass-lab.workspace = true");
    refuses("edges", &[("crates/driver/Cargo.toml", &shipped)], "`driver` may not see `lab`");

    let by_platform =
        manifest("hook", "[target.'cfg(unix)'.dependencies]\nwindlass-mcp.workspace = true");
    refuses("edges", &[("crates/hook/Cargo.toml", &by_platform)], "`hook` may not see `mcp`");

    let unknown = manifest("attic", "");
    refuses("edges", &[("crates/attic/Cargo.toml", &unknown)], "no row in the floor table");

    let tested = manifest("vocabulary", "[dev-dependencies]\nwindlass-lab.workspace = true");
    let test = "//! Tests.\nuse windlass_lab::Scenario;\n";
    let files =
        [("crates/vocabulary/Cargo.toml", tested.as_str()), ("crates/vocabulary/tests/a.rs", test)];
    accepts("edges", &files, "crates/vocabulary");
}

#[test]
fn edges_refuses_what_is_not_used() {
    let dialect = manifest("dialect", "[dependencies]\nwindlass-vocabulary.workspace = true");
    let library = "//! Says windlass_vocabulary in words only.\n\
                   #[cfg(test)]\nmod tests {\n    use windlass_vocabulary::A;\n}\n";
    let files =
        [("crates/dialect/Cargo.toml", dialect.as_str()), ("crates/dialect/src/lib.rs", library)];
    refuses("edges", &files, "dialect/Cargo.toml: no source names `windlass_vocabulary`");
    let foreign = manifest("dialect", "[dependencies]\nserde_json = \"1\"");
    let files =
        [("crates/dialect/Cargo.toml", foreign.as_str()), ("crates/dialect/src/lib.rs", library)];
    refuses("edges", &files, "dialect/Cargo.toml: no source names `serde_json`");
    let alone = manifest("dialect", "");
    let files = [("crates/dialect/Cargo.toml", alone.as_str())];
    refuses("edges", &files, "lets it see `vocabulary`, which it does not use");
    let used = [
        ("crates/dialect/Cargo.toml", dialect.as_str()),
        ("crates/dialect/src/lib.rs", "//! D.\nuse windlass_vocabulary::A;\n"),
    ];
    accepts("edges", &used, "crates/dialect");
}

#[test]
fn purity_refuses_the_world() {
    let engine = manifest("engine", "[dependencies]\nserde = \"1\"\ntokio = \"1\"");
    let permission = manifest("permission", "");
    let files = [
        ("crates/engine/Cargo.toml", engine.as_str()),
        ("crates/engine/src/lib.rs", "//! A loop.\nmod a;\nmod b;\nmod c;\n"),
        ("crates/engine/src/a.rs", "//! A.\nuse std::time::Instant;\n"),
        ("crates/engine/src/b.rs", "//! B.\nuse hashbrown::HashMap;\n"),
        (
            "crates/engine/src/c.rs",
            "//! Says std::fs in words only.\nconst A: &str = \"std::fs\";\n\
             #[cfg(test)]\nmod tests {\n    extern crate std;\n    use std::fs;\n}\n",
        ),
        ("crates/permission/Cargo.toml", permission.as_str()),
        ("crates/permission/src/lib.rs", "//! Rules.\nmod path;\nmod rule;\npub use path::a;\n"),
        (
            "crates/permission/src/path.rs",
            "//! P.\nuse std::{\n    sync::Arc,\n    fs::{self},\n};\n",
        ),
    ];
    refuses("purity", &files, "crates/engine/src/lib.rs: must declare #![no_std]");
    refuses("purity", &files, "crates/engine/src/a.rs:2: std::time");
    refuses("purity", &files, "crates/engine/src/b.rs:2: HashMap");
    refuses("purity", &files, "`tokio` is not among the packages");
    refuses("purity", &files, "crates/permission/src/path.rs:2: std::fs");
    let found = findings("purity", &files);
    assert_eq!(found.len(), 5, "words, strings and tests are free: {found:#?}");
}

#[test]
fn purity_waits_for_a_crate_that_is_not_begun() {
    let files = [("crates/engine/src/lib.rs", "//! Under construction.\n")];
    assert_eq!(findings("purity", &files), Vec::<String>::new());
}

#[test]
fn branches_refuses_a_rule_in_the_driver() {
    for decides in [
        "t == Terminal::Completed",
        "vocabulary::Terminal::Completed != t",
        "matches!(t, Some(Terminal::Completed))",
        "match t { Terminal::Completed => 1, _ => 2 }",
        "match t { Terminal::Completed\n| Terminal::MaxTurns => 1, _ => 2 }",
        "match e { Ending { terminal: Terminal::Completed, .. } => 1, _ => 2 }",
        "if let Some(Transition::NextTurn) = t { 1 }",
        "match t { Transition::NextTurn if late => 1, _ => 2 }",
    ] {
        let text = format!("//! Runs.\nfn f() {{\n    {decides}\n}}\n");
        refuses("branches", &[("crates/driver/src/run.rs", &text)], "run.rs:3: a branch on");
    }
    let carries = "//! Runs.\nfn f(t: Terminal) -> bool {\n    Terminal::is_error(t)\n}\n\
                   fn g() -> Ending {\n    Ending { terminal: Terminal::ModelError, why: 1 }\n}\n\
                   #[cfg(test)]\nmod tests {\n    fn h() { t == Terminal::Completed }\n}\n";
    accepts("branches", &[("crates/driver/src/run.rs", carries)], "crates");
}

#[test]
fn engine_types_refuses_the_engine_in_a_front_end() {
    for names in [
        "use windlass_engine::State;",
        "use windlass_driver::engine_settings::Limits;",
        "use windlass_assembly::session::rewind_point::fallback_settings;",
        "use windlass_journal::JournalRecord;",
        "use windlass_journal::JournalReader;",
        "use windlass_journal::{FoldedJournal, fold};",
        "use windlass_journal::ReplayVisitor;",
    ] {
        let text = format!("//! Paints.\n{names}\n");
        for front_end in ["tui", "demo"] {
            let file = format!("crates/{front_end}/src/painter.rs");
            refuses("engine_types", &[(&file, &text)], "painter.rs:2: a front end names");
        }
        accepts("engine_types", &[("crates/cli/src/wiring.rs", &text)], "crates");
    }
    let comment = "//! Paints.\n// Not from windlass_engine.\nuse windlass_driver::Session;\n";
    accepts("engine_types", &[("crates/web/src/page.rs", comment)], "crates");
    let export = "//! Views.\npub use windlass_engine::State;\n";
    let other = ("crates/driver/src/view.rs", export);
    refuses("engine_types", &[other], "view.rs:2: re-exports the engine");
    accepts("engine_types", &[("crates/driver/src/engine_settings.rs", export)], "crates");
}

#[test]
fn lints_refuses_an_unlinted_crate_and_features() {
    let bare = "[package]\nname = \"windlass-hook\"\n";
    refuses("lints", &[("crates/hook/Cargo.toml", bare)], "[lints] workspace = true");
    let featured = manifest("hook", "[features]\nfast = []");
    refuses("lints", &[("crates/hook/Cargo.toml", &featured)], "has Cargo features");
}

#[test]
fn headers_refuses_a_file_that_does_not_introduce_itself() {
    refuses("headers", &[("crates/a/src/b.rs", "use a::b;\n//! Too late to say.\n")], "b.rs");
    refuses("headers", &[("crates/a/tests/b.rs", "//! Tests.\n")], "b.rs");
    accepts("headers", &[("crates/a/src/b.rs", "//! Splits a line into words.\n")], "crates");
}

#[test]
fn words_refuses_vague_names() {
    let header = "//! Something or other.\n";
    for path in [
        "crates/a/src/utils.rs",
        "crates/a/src/common/mod.rs",
        "crates/a/src/tool_manager.rs",
        "crates/a/tests/helper.rs",
        "crates/a/src/compact_v2.rs",
    ] {
        refuses("words", &[(path, header)], path);
    }
    refuses("words", &[("crates/core/Cargo.toml", &manifest("core", ""))], "`core` says nothing");
    refuses("words", &[("a/src/b.rs", "//! B.\npub(crate) mod helper {}\n")], "b.rs:2: `helper`");
    accepts("words", &[("crates/a/src/record/v1.rs", header)], "crates");
    accepts("words", &[("crates/a/src/database.rs", header)], "crates");
}

#[test]
fn words_refuses_leftovers() {
    for (text, expected) in [
        ("//! B.\nfn f() { todo!() }\n", "b.rs:2: `todo!`"),
        ("//! B.\nfn f() { dbg!(1); }\n", "b.rs:2: `dbg!`"),
        ("//! B.\nfn f() { unimplemented!(\"later\") }\n", "b.rs:2: `unimplemented!`"),
        ("//! B.\n// TODO: later.\n", "b.rs:2: `TODO`"),
        ("//! B.\n/* a\n FIXME b */\n", "b.rs:3: `FIXME`"),
        ("//! B.\n#[test]\n#[ignore = \"slow\"]\nfn f() {}\n", "b.rs:3: `#[ignore`"),
    ] {
        refuses("words", &[("a/src/b.rs", text)], expected);
    }
    refuses("words", &[("docs/a.md", "Say `TODO` so.\nTODO: finish.\n")], "a.md:2: `TODO`");
    refuses("words", &[("deny.toml", "# FIXME\n")], "deny.toml:1");
    for path in ["crates/a/src/b.rs", "crates/cli/src/text/help/why.txt", "docs/a.md"] {
        refuses("words", &[(path, "//! For whoever reads it.\n")], ":1: `whoever`");
    }
    for path in ["crates/engine/src/b.rs", "crates/a/tests/b.rs", "docs/decisions/0001-a.md"] {
        accepts("words", &[(path, "//! For whoever reads it.\n")], path);
    }
    let free = "//! Lists TodoWrite.\nconst A: &str = \"TODO: todo!() #[ignore]\";\n\
                const B: &str = r#\"a \" TODO\"#;\nconst C: char = '\"'; // 'a is a lifetime.\n";
    accepts("words", &[("a/src/b.rs", free)], "a");
}

#[test]
fn type_names_refuses_a_second_type_of_the_same_name() {
    let files = [
        ("crates/a/src/lib.rs", "//! A.\npub struct Reader<T> {\n    a: T,\n}\n"),
        ("crates/b/src/c.rs", "//! C.\npub(crate) enum Reader {}\n"),
    ];
    let problem = "crates/b/src/c.rs:2: `Reader` is also the type of crates/a/src/lib.rs:2";
    refuses("type_names", &files, problem);
    let tested = "//! C.\n// struct Reader\n#[cfg(test)]\nmod tests {\n    struct Reader;\n}\n";
    let files =
        [("crates/a/src/lib.rs", "//! A.\nstruct Reader;\n"), ("crates/b/src/c.rs", tested)];
    accepts("type_names", &files, "crates");
}

#[test]
fn metaphors_refuses_files_modules_and_types() {
    let header = "//! A.\n";
    refuses("metaphors", &[("crates/a/src/desk/mod.rs", header)], "desk/mod.rs: `desk`");
    refuses("metaphors", &[("crates/a/tests/told.rs", header)], "told.rs: `told` is no noun");
    refuses("metaphors", &[("crates/a/src/b.rs", "//! A.\nmod vault;\n")], "b.rs:2: `vault`");
    let text = "//! A.\nstruct FrontDesk {}\nenum Found {}\n";
    refuses("metaphors", &[("crates/a/src/b.rs", text)], "b.rs:2: `desk`");
    refuses("metaphors", &[("crates/a/src/b.rs", text)], "b.rs:3: `found`");
    let fine = "//! A desk.\nstruct NotFound;\nenum Broadcast {}\nmod nested {}\n";
    accepts("metaphors", &[("crates/a/src/not_found.rs", fine)], "crates");
    accepts("metaphors", &[("crates/engine/src/stage.rs", header)], "crates");
}

#[test]
fn function_names_refuses_participles() {
    let text = "//! A.\nfn composed() {}\npub(crate) async fn told() {}\n";
    let files = [("crates/a/src/b.rs", text)];
    refuses("function_names", &files, "b.rs:2: `composed` is a participle");
    refuses("function_names", &files, "b.rs:3: `told` is a participle");
    let fine = "//! A.\nfn feed() {}\nfn queued_messages() {}\nfn compose(f: impl Fn()) {}\n";
    accepts("function_names", &[("crates/a/src/b.rs", fine)], "crates");
    accepts("function_names", &[("crates/engine/src/b.rs", text)], "crates");
}

#[test]
fn wide_structs_refuses_the_sixteenth_field() {
    let fields = |count: usize| {
        let field = "    #[serde(a, b)]\n    pub(crate) a: Map<B, fn(C, D) -> E>,\n";
        format!("//! A.\npub struct Wide<T> {{\n{}}}\n", field.repeat(count))
    };
    let files = [("crates/a/src/b.rs", fields(16))];
    refuses("wide_structs", &[(files[0].0, &files[0].1)], "b.rs:2: struct Wide has 16 fields");
    accepts("wide_structs", &[("crates/a/src/b.rs", &fields(15))], "crates");
    let list = format!("//! A.\nenum Long {{\n{}}}\n", "    A,\n".repeat(40));
    accepts("wide_structs", &[("crates/a/src/b.rs", &list)], "crates");
}

#[test]
fn cycles_refuses_five_modules_that_import_each_other() {
    let manifest = manifest("hook", "");
    let a = "//! A.\nuse crate::{\n    e::{F, G},\n    b::B,\n};\n";
    let round = [
        ("crates/hook/Cargo.toml", manifest.as_str()),
        ("crates/hook/src/lib.rs", "//! L.\nuse crate::a::A;\n"),
        ("crates/hook/src/a.rs", a),
        ("crates/hook/src/b/mod.rs", "//! B.\nfn f() { crate::c::g() }\n"),
        ("crates/hook/src/c.rs", "//! C.\nuse crate::d;\n"),
        ("crates/hook/src/d.rs", "//! D.\nuse crate::a;\n"),
        ("crates/hook/src/e.rs", "//! E, with [`crate::d`].\n"),
    ];
    accepts("cycles", &round, "crates");
    let mut wide = round.to_vec();
    wide.push(("crates/hook/src/e/f.rs", "//! F.\nuse crate::d::D;\n"));
    let problem = "crates/hook/src: 5 modules import each other, at most 4: a -> b, e; b -> c; \
                   c -> d; d -> a; e -> d";
    refuses("cycles", &wide, problem);
}

#[test]
fn doc_repeats_refuses_comments_that_add_nothing() {
    let source = "//! M.\n\n/// The turns.\npub struct Turns {\n    /// How many.\n    max: u8,\n    \
                  /// Counted from one.\n    first: u8,\n}\n";
    let path = "crates/hook/src/turns.rs";
    refuses("doc_repeats", &[(path, source)], "turns.rs:3: `/// The turns.`");
    refuses("doc_repeats", &[(path, source)], "turns.rs:5: `/// How many.`");
    assert_eq!(findings("doc_repeats", &[(path, source)]).len(), 2);
    refuses("doc_repeats", &[("crates/driver/src/turns.rs", source)], "turns.rs:3");
    accepts("doc_repeats", &[("crates/permission/src/turns.rs", source)], "crates/permission");
    let schema = source.replace("//! M.", "//! M.\nuse schemars::JsonSchema;");
    accepts("doc_repeats", &[(path, &schema)], path);
}

#[test]
fn crate_sizes_refuses_a_crate_for_everything() {
    let hook = manifest("hook", "");
    let cli = manifest("cli", "");
    let long = format!("//! A.\n{}", "const A: u8 = 1;\n".repeat(7_000));
    let files = [
        ("crates/hook/Cargo.toml", hook.as_str()),
        ("crates/hook/src/a.rs", &long),
        ("crates/hook/src/b/c.rs", &long),
        ("crates/cli/Cargo.toml", &cli),
        ("crates/cli/src/a.rs", &long),
    ];
    refuses("crate_sizes", &files, "crates/cli: has 7001 lines; at most 7000");
    accepts("crate_sizes", &files, "crates/hook");
    let mut more = files.to_vec();
    more.push(("crates/hook/src/d.rs", &long));
    refuses("crate_sizes", &more, "crates/hook: has 21003 lines; at most 15000");
}

#[test]
fn catch_all_refuses_the_rest_of_our_own_lists() {
    let list = ("crates/a/src/kind.rs", "//! K.\npub enum Kind {\n    A,\n    B(u8),\n}\n");
    let match_of = |arms: &str| {
        format!(
            "//! M.\nuse serde_json::Value;\nfn f() {{\n    match g(|h| {{ h }}) {{ {arms} }}\n}}\n"
        )
    };
    for arms in [
        "Kind::A => 1, _ => 2",
        "crate::kind::Kind::B(_) if i < j => { 1 } _ => 2",
        "&Kind::A | &Kind::B(_) => k::<L, M>(), other => n(other)",
        "Kind::B(o) => match o { 1 => 2, _ => 3 }, _ if p => 4, Kind::A => 5",
        "Self::A => 1, _ => 2",
    ] {
        let text = match_of(arms);
        refuses("catch_all", &[list, ("crates/b/src/m.rs", &text)], "m.rs:4: a match over");
    }
    let declares = "//! M.\nmod kind;\npub use kind::Kind;\nfn f() {\n    match g() { Kind::A => 1, other => 2 }\n}\n";
    refuses("catch_all", &[list, ("crates/a/src/lib.rs", declares)], "lib.rs:5: a match over");
    for arms in [
        "Kind::A => 1, Kind::B(_) => 2",
        "Kind::A => 1, Kind::B(q) => match q { 1 => 2, _ => 3 }",
        "(Kind::A, _) => 1, _ => 2",
        "Some(Kind::A) => 1, _ => 2",
        "Value::Null => 1, _ => 2",
        "foreign::Kind::A => 1, _ => 2",
        "Self::LIMIT => 1, _ => 2",
        "0 => Kind::A, _ => Kind::B(1)",
    ] {
        let text = match_of(arms);
        let value = ("crates/c/src/v.rs", "//! V.\nenum Value {}\n");
        accepts("catch_all", &[list, value, ("crates/b/src/m.rs", &text)], "crates");
    }
}

#[test]
fn paths_refuses_machines_registries_and_keys() {
    let lines = [
        concat!("cd /ro", "ot/project"),
        concat!("see /wo", "rk/project"),
        concat!("https://mirror.example/arti", "factory/api"),
        concat!("key = \"sk", "-ant-api03-Zm9vYmFyYmF6cXV4MTIzNDU2\""),
        concat!("-----BEGIN PRIVATE K", "EY-----"),
        concat!("authorization: Bear", "er abcdef0123456789abcdef0123456789"),
    ];
    for line in lines {
        refuses("paths", &[("docs/a.md", line)], "docs/a.md:1");
    }
    let lock = "[[package]]\nsource = \"registry+https://mirror.example/index\"\n";
    refuses("paths", &[("Cargo.lock", lock)], "Cargo.lock:2");
    let fine = "a task-oriented tool, /home/u, sk-test-00000000000000000000, network/roots\n";
    accepts("paths", &[("docs/a.md", fine)], "docs");
}

#[test]
fn folders_refuses_a_member_without_a_scenario_and_the_reverse() {
    let begun = "//! One.\npub fn a() {}\npub fn b() {}\npub fn c() {}\n";
    let files = [
        ("crates/lab/src/lib.rs", begun),
        ("crates/engine/src/lib.rs", begun),
        ("crates/engine/src/transition/mod.rs", begun),
        ("crates/engine/src/transition/next_turn.rs", begun),
        ("crates/engine/src/transition/told.rs", begun),
        ("crates/engine/src/terminal/completed.rs", begun),
        ("crates/engine/src/context/level_1_budget.rs", begun),
        ("crates/engine/src/context/estimate.rs", begun),
        ("scenarios/transition/told.txt", "told\n"),
        ("scenarios/terminal/completed.txt", "told\n"),
        ("scenarios/terminal/finished.txt", "told\n"),
        ("scenarios/context/level_1_budget.txt", "told\n"),
    ];
    assert_eq!(
        findings("folders", &files),
        [
            "crates/engine/src/transition/next_turn.rs: no scenario \
             scenarios/transition/next_turn.txt",
            "scenarios/terminal/finished.txt: no member crates/engine/src/terminal/finished.rs; \
             variations go to regression/",
        ]
    );
}

#[test]
fn map_refuses_a_table_and_paths_that_are_not_true() {
    let map = "| crate | does | may see |\n|---|---|---|\n\
               | `engine` | Decides. | `vocabulary` |\n| `attic` | Keeps. | nothing |\n\n\
               Open `crates/engine/src/gone.rs` and `crates/engine/src/l*.rs`.\n\
               Later `crates/hook/src/run.rs`; `docs/<any>/missing.md`.\n";
    let begun = "//! One.\npub fn a() {}\npub fn b() {}\npub fn c() {}\n";
    let files = [
        ("ARCHITECTURE.md", map),
        ("crates/engine/Cargo.toml", &manifest("engine", "")),
        ("crates/engine/src/lib.rs", begun),
        ("crates/hook/Cargo.toml", &manifest("hook", "")),
        ("crates/hook/src/lib.rs", "//! Under construction.\n"),
    ];
    assert_eq!(
        findings("map", &files),
        [
            "ARCHITECTURE.md: what `engine` may see differs from xtask/src/tidy/edges.rs",
            "ARCHITECTURE.md: the crate table lacks `hook`",
            "ARCHITECTURE.md: the crate table has `attic`, the tree has not",
            "ARCHITECTURE.md:6: `crates/engine/src/gone.rs` is not there",
            "ARCHITECTURE.md:7: `docs/<any>/missing.md` is not there",
        ]
    );
}

#[test]
fn pages_refuses_gaps_doubles_and_kindless_lines() {
    let page = "# A\n## Context\n## Decision\n## Road not taken\n## Consequence\n";
    let files = [
        ("docs/decisions/README.md", "[a](0001-a.md)\n"),
        ("docs/decisions/0001-a.md", page),
        ("docs/decisions/0003-c.md", "# C\n## Decision\n"),
        ("docs/glossary.md", "- **Run**: a.\n- **Attempt**: b.\n- **attempt**: c.\n"),
        ("CHANGELOG.md", "# Unreleased\n- Added: a.\n- More b.\n"),
        ("crates/cli/src/text/help/a.txt", &format!("Short.\n{}\n", "x".repeat(81))),
        ("docs/table.md", "| a | b |\n|---|---|\n| `c\\|d` | e |\n| `c|d` | e |\n"),
    ];
    for expected in [
        "0003-c.md: decision pages are numbered without gaps; 0002 was due",
        "README.md: does not link 0003-c.md",
        "0003-c.md: must have exactly the headings",
        "glossary.md:2: `attempt` comes before `run`",
        "glossary.md:3: `attempt` is defined twice",
        "CHANGELOG.md:3: a line starts with one of",
        "a.txt:2: a line of help is at most 80 wide",
        "table.md:4: the row has another number of cells",
    ] {
        refuses("pages", &files, expected);
    }
    assert_eq!(findings("pages", &files).len(), 8);
}

#[test]
fn glossary_refuses_names_that_are_gone() {
    let page = "- **Run**: ends with a `RunEnding`.\n- **Wish**: a `Wish` of `docs/a.md`.\n";
    let files =
        [("docs/glossary.md", page), ("crates/a/src/b.rs", "//! A Wish.\npub struct RunEnding;\n")];
    assert_eq!(findings("glossary", &files), ["docs/glossary.md:2: `Wish`: no crate says `Wish`"]);
}

#[test]
fn glossary_refuses_terms_that_no_code_says() {
    let page = "- **Context level, sub-agent**: two\n  things.\n- **Kept turn**: gone.\n\
                - **Meta message**: hidden\n  (`MetaKind`).\n- **Tree**: a file.\n";
    let code = "//! A kept turn.\nstruct ContextLevel;\nstruct MetaKind;\nfn run_subagent() {}\n";
    let files = [("docs/glossary.md", page), ("crates/a/src/tree.rs", code)];
    assert_eq!(
        findings("glossary", &files),
        ["docs/glossary.md:3: Kept turn: no crate says so; name what does, or drop the entry"]
    );
}

#[test]
fn faults_refuses_rows_that_nothing_shows() {
    let page = "| row | fault | shown by |\n|---|---|---|\n| T1 | hangs | `it_is_ended` |\n\
                | T2 | crashes | `it_is_gone` |\n| T3 | lies | nothing |\n";
    let test = "//! Tests.\n#[test]\nfn it_is_ended() {}\n";
    let files = [("docs/faults.md", page), ("crates/tool/tests/a.rs", test)];
    refuses("faults", &files, "faults.md:4: there is no test `it_is_gone`");
    refuses("faults", &files, "faults.md:5: no test shows this row");
    assert_eq!(findings("faults", &files).len(), 2);
    refuses("faults", &[("docs/other.md", "")], "docs/faults.md: is missing");
}

#[test]
fn dependencies_refuses_licences_sources_and_duplicates_without_a_reason() {
    let policy = DependencyPolicy::parse(
        "[graph]\ntargets = [\"x86_64-unknown-linux-gnu\"]\n\
         [licenses]\nallow = [\"MIT\", \"Apache-2.0 WITH LLVM-exception\", \"Zlib\"]\n\
         exceptions = [{ crate = \"seal\", allow = [\"ISC\"] }]\n\
         [bans]\nskip = [{ crate = \"old@1.0.0\", reason = \"wanted by elder until 2.0\" },\n\
         { crate = \"gone@1.0.0\", reason = \"wanted by nobody at all\" },\n\
         { crate = \"twin@1.0.0\" }]\n",
    )
    .unwrap();
    let registry = "registry+https://host.example/crates.io-index";
    let package = |name: &str, version: &str, licence: &str, source: &str| {
        json!({ "id": format!("{name}{version}"), "name": name, "version": version,
                "license": licence, "source": source })
    };
    let packages = [
        package("fine", "1.0.0", "(MIT OR GPL-3.0) AND Zlib", registry),
        package("slash", "1.0.0", "Apache-2.0/MIT", registry),
        package("llvm", "1.0.0", "Apache-2.0 WITH LLVM-exception", registry),
        package("seal", "1.0.0", "MIT AND ISC", registry),
        package("free", "1.0.0", "MIT AND GPL-3.0", registry),
        package("odd", "1.0.0", "MIT OR", registry),
        package("forked", "1.0.0", "MIT", "git+https://host.example/forked"),
        package("old", "1.0.0", "MIT", registry),
        package("old", "2.0.0", "MIT", registry),
        package("twin", "1.0.0", "MIT", registry),
        package("twin", "2.0.0", "MIT", registry),
        package("pair", "1.0.0", "MIT", registry),
        package("pair", "2.0.0", "MIT", registry),
        package("guest", "1.0.0", "MIT", registry),
        package("guest", "2.0.0", "MIT", registry),
    ];
    // Everything is built but the older half of one duplicate, which only a test wants.
    let deps = packages.iter().map(|one| {
        let kind = if one["id"] == "guest1.0.0" { json!("dev") } else { json!(null) };
        json!({ "pkg": one["id"], "dep_kinds": [{ "kind": kind }] })
    });
    let mut nodes = vec![json!({ "id": "ours", "deps": deps.collect::<Vec<_>>() })];
    nodes.extend(packages.iter().map(|one| json!({ "id": one["id"], "deps": [] })));
    let metadata = json!({ "packages": packages, "resolve": { "nodes": nodes },
                           "workspace_members": ["ours"] });
    let found: Vec<String> =
        check_metadata(&metadata, &policy).iter().map(|finding| finding.location.clone()).collect();
    // In order: two licences, a source, a duplicate, a stale exception, one without a reason.
    assert_eq!(
        found,
        ["free@1.0.0", "odd@1.0.0", "forked@1.0.0", "pair", "deny.toml", "deny.toml"]
    );
}

#[test]
fn sizes_notes_long_files_and_functions() {
    let long = format!("//! Long.\nfn grown() {{\n{}}}\n", "    step();\n".repeat(71));
    let short =
        format!("//! Short.\nfn fits() {{\n{}}}\n", "    // Why.\n    step();\n".repeat(70));
    let tall = format!("//! Tall.\n{}", "const A: u8 = 1;\n".repeat(400));
    let (_root, tree) = tree(&[
        ("crates/hook/src/long.rs", &long),
        ("crates/hook/src/short.rs", &short),
        ("crates/hook/src/tall.rs", &tall),
        ("crates/engine/src/tall.rs", &tall),
    ]);
    let notes: Vec<String> = sizes::report(&tree).iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "crates/engine/src/tall.rs: 401 lines, look again when over 400",
            "crates/hook/src/long.rs:2: fn grown has 71 lines",
        ]
    );
}

#[test]
fn commands_refuses_what_cannot_be_typed() {
    let check = |page: &str| {
        let files = [
            ("docs/commands.md", "## windlass\n| `-p, --print PROMPT` | a |\n## windlass why\n"),
            ("docs/fleet_commands.md", "## windlass ps\n| `--state STATE` | a |\n"),
            ("docs/wire/flags.md", "| `--betas` | yes | |\n"),
            ("docs/page.md", page),
        ];
        findings("commands", &files)
    };
    for wrong in [
        "`windlass wyh`",
        "`windlass --pint x`",
        "`--pint`",
        "`ps --sate x`",
        "```sh\nA=b windlass -p x | windlass wyh\n```\n",
        "```sh\nwindlass why \\\n  --pint\n```\n",
        "```sh\nwindlass -p -- windlass wyh\n```\n",
    ] {
        assert_eq!(check(wrong).len(), 1, "{wrong}: {:?}", check(wrong));
    }
    for fine in [
        "`windlass why`, `windlass -p x`, `--print`, `ps --state x`, `--betas`, windlass wyh",
        "`cargo test --pint`",
        "```sh\nwindlass why # wyh --pint\ngit log --pint\n```\n",
        "```text\nwindlass wyh\n```\n",
    ] {
        assert_eq!(check(fine), Vec::<String>::new(), "{fine}");
    }
    let help = [
        ("docs/commands.md", "## windlass why\n"),
        ("crates/cli/src/text/help/a.txt", "Examples:\n  windlass wyh    says why\n"),
    ];
    refuses("commands", &help, "a.txt:2: there is no command `windlass wyh`");
}

#[test]
fn links_refuses_what_leads_nowhere() {
    let page = |link: &str| {
        [("docs/a.md", format!("# A b\n\n{link}\n")), ("docs/c/d.md", "# A b\n# A b\n".to_owned())]
    };
    let check = |link: &str| {
        let files = page(link);
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        findings("links", &files)
    };
    for broken in [
        "[x](b.md)",
        "[x](c/d.md#b)",
        "[x](#c)",
        "[x](../../a.md)",
        "![x](none.svg)",
        "[x](c/d.md) and [y](c/e.md)",
        "<img src=\"none.svg\">",
    ] {
        assert_eq!(check(broken).len(), 1, "{broken}");
    }
    for fine in [
        "[x](c/d.md#a-b-1)",
        "[x](#a-b)",
        "`[x](b.md)`",
        "[x](https://example.com/b.md)",
        "[x](c/)",
    ] {
        assert_eq!(check(fine), Vec::<String>::new(), "{fine}");
    }
}
