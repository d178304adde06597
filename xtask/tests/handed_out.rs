//! What is handed out beside the program: workflows and the action, the site's contents, the page of
//! numbers.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test says no"
)]

use std::path::Path;

use xtask::bench::{
    BenchFigures, BenchOptions, FIGURES_FILE, LimitKind, render_files, render_page,
};
use xtask::dist::DistOptions;
use xtask::loop_picture::{PICTURE_FILE, render_picture};
use xtask::site::{find_dead_links, render_contents};
use xtask::tidy::RepositoryTree;
use yaml_rust2::{Yaml, YamlLoader};

fn tree() -> RepositoryTree {
    RepositoryTree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
}

fn parse(tree: &RepositoryTree, path: &str) -> Yaml {
    let text = &tree.file(path).unwrap_or_else(|| panic!("{path}")).text;
    YamlLoader::load_from_str(text).unwrap_or_else(|error| panic!("{path}: {error}")).remove(0)
}

/// Every `uses` of a document, however deep.
fn find_uses(value: &Yaml, found: &mut Vec<String>) {
    match value {
        Yaml::Hash(table) => {
            for (key, value) in table {
                if key.as_str() == Some("uses") {
                    found.push(value.as_str().unwrap_or_default().to_owned());
                }
                find_uses(value, found);
            }
        }
        Yaml::Array(rows) => rows.iter().for_each(|row| find_uses(row, found)),
        _ => {}
    }
}

#[test]
fn actions_of_others_are_pinned_by_their_commit() {
    let tree = tree();
    let mut pages: Vec<&str> =
        tree.files_below(".github/workflows").map(|file| file.path.as_str()).collect();
    assert!(!pages.is_empty());
    pages.push("action.yml");
    for page in pages {
        let mut found = Vec::new();
        find_uses(&parse(&tree, page), &mut found);
        for used in found.iter().filter(|used| !used.starts_with("./")) {
            let commit = used.split('@').nth(1).unwrap_or_default();
            let is_commit = commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
            assert!(is_commit, "{page}: {used} is not pinned by a commit");
        }
    }
}

#[test]
fn jobs_have_deadlines_and_no_more_rights_than_they_need() {
    let tree = tree();
    for file in tree.files_below(".github/workflows") {
        let page = parse(&tree, &file.path);
        assert!(page["name"].as_str().is_some() && !page["on"].is_badvalue(), "{}", file.path);
        assert_eq!(page["permissions"]["contents"].as_str(), Some("read"), "{}", file.path);
        let jobs = page["jobs"].as_hash().unwrap();
        assert!(!jobs.is_empty());
        for (name, job) in jobs {
            assert!(job["timeout-minutes"].as_i64().is_some_and(|limit| limit <= 60), "{name:?}");
            assert!(
                job["runs-on"].as_str().is_some_and(|machine| !machine.contains("latest")),
                "{name:?}"
            );
            for step in job["steps"].as_vec().unwrap() {
                let is_whole = step["run"].as_str().is_some() || step["uses"].as_str().is_some();
                assert!(is_whole, "{name:?}: {step:?}");
                // What others can write, such as a title, must not be read as shell.
                let text = step["run"].as_str().unwrap_or_default();
                assert!(!text.contains("${{"), "{name:?}: a value goes in by `env`");
            }
        }
    }
}

#[test]
fn the_action_is_whole_and_reads_no_input_as_shell() {
    let tree = tree();
    let action = parse(&tree, "action.yml");
    for key in ["name", "description"] {
        assert!(action[key].as_str().is_some_and(|text| !text.is_empty()), "{key}");
    }
    let script = &tree.file("deploy/action.sh").unwrap().text;
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    let step = &action["runs"]["steps"][0];
    assert_eq!(step["shell"].as_str(), Some("bash"));
    assert!(!step["run"].as_str().unwrap().contains("${{"));
    for (name, input) in action["inputs"].as_hash().unwrap() {
        let name = name.as_str().unwrap();
        assert!(input["description"].as_str().is_some(), "{name}");
        let is_required = input["required"].as_bool().unwrap();
        assert_eq!(is_required, input["default"].is_badvalue(), "{name}");
        let variable = format!("INPUT_{}", name.to_uppercase().replace('-', "_"));
        let expected = format!("${{{{ inputs.{name} }}}}");
        assert_eq!(step["env"][variable.as_str()].as_str(), Some(expected.as_str()), "{name}");
        assert!(script.contains(&variable), "{variable} is not used");
    }
    for (name, output) in action["outputs"].as_hash().unwrap() {
        let name = name.as_str().unwrap();
        let expected = format!("${{{{ steps.run.outputs.{name} }}}}");
        assert_eq!(output["value"].as_str(), Some(expected.as_str()));
        assert!(script.contains(&format!("output {name} ")), "{name} is not set");
    }
}

#[test]
fn a_flag_of_dist_without_its_value_builds_nothing() {
    for words in [&["--only"][..], &["--binary"], &["--only", "rpm"], &["--onyl", "deb"]] {
        DistOptions::parse(words).map(|_| ()).unwrap_err();
    }
    let options = DistOptions::parse(&["--only", "deb", "--binary", "w"]).unwrap();
    assert_eq!(options.only.as_deref(), Some("deb"));
}

#[test]
fn the_site_has_every_page_once() {
    let tree = tree();
    let contents = render_contents(&tree);
    let pages = tree.files_below("docs").filter(|file| file.path.ends_with(".md"));
    for page in pages {
        let link = format!("]({})", page.path.trim_start_matches("docs/"));
        assert_eq!(contents.matches(&link).count(), 1, "{}", page.path);
    }
}

#[test]
fn a_link_of_the_site_that_leads_nowhere_is_named() {
    let site = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(site.path().join(name), text).unwrap();
    std::fs::create_dir(site.path().join("wire")).unwrap();
    let links = "<a href=\"wire/one.html#here\"> <a href=\"https://elsewhere/\"> <a id=\"top\" href=\"#top\">";
    write("index.html", links);
    write("wire/one.html", "<h2 id=\"here\"> <img src=\"../picture.svg\">");
    write("picture.svg", "");
    assert_eq!(find_dead_links(site.path()).unwrap(), Vec::<String>::new());
    write("index.html", &links.replace("#here", "#there"));
    std::fs::remove_file(site.path().join("picture.svg")).unwrap();
    let expected =
        ["index.html links to wire/one.html#there", "wire/one.html links to ../picture.svg"];
    assert_eq!(find_dead_links(site.path()).unwrap(), expected);
}

#[test]
fn the_picture_of_the_loop_is_what_the_walk_saw() {
    let table = &tree().file("docs/loop.md").unwrap().text.clone();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(PICTURE_FILE);
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(kept == render_picture(table).unwrap(), "cargo xtask picture");
    let more = format!("{table}| Dreaming | Woken | `next_turn` |\n");
    assert!(render_picture(&more).unwrap_err().contains("Dreaming"));
    let more = format!("{table}| Waiting | Woken | sleep |\n");
    assert!(render_picture(&more).unwrap_err().contains("sleep"));
}

#[test]
fn the_page_of_numbers_is_what_the_kept_numbers_say() {
    let tree = tree();
    let kept = tree.file(FIGURES_FILE).map(|file| BenchFigures::parse(&file.text).unwrap());
    for file in render_files(kept.as_ref()) {
        let written = tree.file(&file.path).map(|written| written.text.as_str());
        assert!(written == Some(&file.text), "{}: cargo xtask bench --page", file.path);
    }
    if let Some(figures) = kept {
        assert_eq!(figures.judge(LimitKind::Wide), Vec::<String>::new());
        // A limit may be missed, and the page says so; a row without a number says nothing.
        let page = render_page(Some(&figures));
        assert!(!page.contains("| not measured"), "cargo xtask bench --only …");
    }
}

/// What README says of ours and of others is what was measured last.
#[test]
fn the_numbers_of_readme_are_the_kept_ones() {
    let tree = tree();
    let figures = BenchFigures::parse(&tree.file(FIGURES_FILE).unwrap().text).unwrap();
    let readme = &tree.file("README.md").unwrap().text;
    let agents = ["windlass", "floor", "codex", "pi", "opencode"];
    for (what, name) in [
        ("start to the first request", "start_ms"),
        ("one turn with a shell command", "turn_ms"),
        ("peak memory, 50 turns", "peak_mb"),
        ("ten sessions at once", "ten_sessions_s"),
    ] {
        let row = figures.render_readme_row(what, name, &agents);
        assert!(readme.contains(&row), "README.md should say {row}");
    }
    for row in figures.render_readme_figures() {
        assert!(readme.contains(&row), "README.md should say {row}");
    }
    let soak = readme.lines().find(|line| line.contains("`cargo soak")).unwrap();
    let reliability = &tree.file("docs/reliability.md").unwrap().text;
    for number in soak.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty()) {
        assert!(reliability.contains(number), "README.md says {number}: {soak}");
    }
}

#[test]
fn a_missed_limit_is_named() {
    let samples = |value: f64| serde_json::json!([value, value, value]);
    let agent = |scale: f64| {
        serde_json::json!({
            "start_ms": samples(10.0 * scale), "turn_ms": samples(2.0 * scale),
            "tool_start_ms": samples(1.0), "peak_mb": samples(20.0), "ten_sessions_s": samples(0.1 * scale),
            "first_request_kb": samples(9.0),
        })
    };
    let judge = |ours: f64| {
        let value = serde_json::json!({"agents": {"windlass": agent(ours), "floor": agent(4.0)}});
        BenchFigures::parse(&value.to_string()).unwrap().judge(LimitKind::Promised)
    };
    let judge = |ours: f64| {
        // No bench of a crate was run; that is no kept limit.
        let (gaps, missed): (Vec<_>, Vec<_>) = judge(ours)
            .into_iter()
            .partition(|line| line.contains(": not measured; run `cargo xtask bench --only "));
        assert_eq!(gaps.len(), 9, "{gaps:?}");
        missed
    };
    assert_eq!(judge(1.0), Vec::<String>::new());
    let missed = judge(8.0);
    assert_eq!(missed.len(), 3, "{missed:?}");
    assert!(missed[0].starts_with("missed: from start to the first request"), "{missed:?}");
    BenchFigures::parse("{}").map(|_| ()).unwrap_err();
}

/// What the benches print, and what is read from it.
#[test]
fn numbers_of_the_crates_are_read_and_judged() {
    let samples = serde_json::json!([1.0]);
    let names =
        ["start_ms", "turn_ms", "tool_start_ms", "peak_mb", "ten_sessions_s", "first_request_kb"];
    let floor: serde_json::Map<_, _> =
        names.iter().map(|name| ((*name).to_owned(), samples.clone())).collect();
    let ours: serde_json::Map<_, _> =
        names.iter().map(|name| ((*name).to_owned(), serde_json::json!([0.1]))).collect();
    let page = |idle: &str| {
        let bench = |name: &str, said: &str| serde_json::json!({"command": format!("cargo bench --bench {name}"), "is_fine": true, "said": said});
        let value = serde_json::json!({
            "agents": {"windlass": ours, "floor": floor, "other": {"start_ms": [300.0]}}, "versions": {"other": "1.2"},
            "benches": [
                bench("echo", &format!("first frame: fastest 6.0ms  p50 7.2ms\nidle for 5s: 0 wakes, {idle} resident\n  time to the echo   p50 1.2ms  p99 6.0ms  max 6.9ms\n")),
                bench("step", "one streamed piece of text            1.00µs     350.00ns\none dead event  1.00µs 2.00µs"),
                bench("open", "opened, and its first request prepared  30.0ms\nopened, and its first request prepared  0.21s"),
                bench("look", "  look, nothing changed          4.0ms  0.46\n  100 files undone                    44.1ms\n  look, nothing changed / git status      0.46  goal 0.6    holds\n  100 files undone, ms    44.10  goal 200    holds\n"),
                bench("cell", "command  plain  cell  added\ncat a.txt        1.20ms    2.30ms     1.10ms\n"),
                bench("list", "listed without an index   900.0ms   10000 found\nlisted      9.5ms   10000 found\n"),
            ],
        });
        BenchFigures::parse(&value.to_string()).unwrap()
    };
    let figures = page("17900 kB");
    assert_eq!(figures.judge(LimitKind::Promised), Vec::<String>::new());
    let rendered = render_page(Some(&figures));
    for row in [
        "| from start to the first frame in the terminal | 7.20 ms | | 10 ms | yes |",
        "| resident memory of an idle session | 17.90 MB | | 20 MB | yes |",
        "| one step of the loop for a piece of an answer | 0.35 µs | | 1 µs | yes |",
        "| open a session of 100 MB | 210.00 ms | | 300 ms | yes |",
        "| list 10,000 sessions | 9.50 ms | | 100 ms | yes |",
        "| from a key to its echo, while an answer streams | 1.20 ms | | 10 ms | yes |",
        "| snapshot of 10,000 unchanged files, to a `git status` | 0.46 | | 0.6 | yes |",
        "| rewind of 100 changed files | 44.10 ms | | 200 ms | yes |",
        "| what the read-only cell adds to a command | 1.10 ms | | 2 ms | yes |",
        "| version |  |  | 1.2 |",
        "| from start to the first request | 0.1 ms | 1.0 ms | 300.0 ms |",
        "| ten sessions at once, start to end | 0.1 s | 1.0 s | failed |",
    ] {
        assert!(rendered.contains(&format!("{row}\n")), "{row}: {rendered}");
    }
    let readme = figures.render_readme_figures();
    assert_eq!(readme[0], "| first frame in the terminal | 7.20 ms | `cargo bench --bench echo` |");
    assert!(readme.contains(
        &"| rewind of 100 changed files | 44.10 ms | `cargo bench --bench look` |".to_owned()
    ));
    let missed = page("20100 kB").judge(LimitKind::Promised);
    assert_eq!(missed, ["missed: resident memory of an idle session: 20.10 MB, at most 20 MB"]);
    assert_eq!(
        page("much").judge(LimitKind::Promised),
        [
            "missed: resident memory of an idle session: not measured: time to the echo   p50 1.2ms  p99 6.0ms  max 6.9ms"
        ]
    );
    assert!(BenchOptions::parse(&["--only", "look,cell"]).is_ok());
    let refused = BenchOptions::parse(&["--only", "lok"]).unwrap_err();
    assert!(refused.starts_with("there is no bench `lok`; there are step, "), "{refused}");
}
