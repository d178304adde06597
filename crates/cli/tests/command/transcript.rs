//! The transcripts that other programs read: written beside every session that is kept, read here by
//! the rules of those programs, and gone on from where nothing else is left of a session.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};
use windlass_vocabulary::WireFormat;

use crate::fixture::{TestDirs, play, run};

pub(crate) const SESSION: &str = "7c1d3b52-0f4e-4f6a-8d3c-1a2b3c4d5e6f";

pub(crate) fn ask(dirs: &TestDirs, server: &Rehearsal, arguments: &[&str]) -> Value {
    let mut command = dirs.asking(&server.url(), &["--output-format", "json"]);
    let finished = run(command.args(arguments));
    serde_json::from_str(finished.answer()).expect("one object")
}

pub(crate) fn projects(dirs: &TestDirs) -> PathBuf {
    dirs.home().join(".claude/projects")
}

/// Every transcript below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

pub(crate) fn entries(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a transcript");
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn field<'a>(entry: &'a Value, key: &str) -> Option<&'a str> {
    entry[key].as_str()
}

/// The conversation by the rules of the page: leaves, the nearest that was said, the latest in the
/// file, its parents, and calls and results beside the branch that share its answers.
pub(crate) fn conversation(entries: &[Value]) -> Vec<Value> {
    let place: HashMap<&str, usize> = entries
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| Some((field(entry, "uuid")?, at)))
        .collect();
    let parents: HashSet<&str> =
        entries.iter().filter_map(|entry| field(entry, "parentUuid")).collect();
    let up =
        |at: usize| field(&entries[at], "parentUuid").and_then(|uuid| place.get(uuid).copied());
    let is_said = |at: usize| entries[at]["type"] == "user" || entries[at]["type"] == "assistant";
    let mut leaves = Vec::new();
    for at in place
        .values()
        .filter(|at| field(&entries[**at], "uuid").is_some_and(|uuid| !parents.contains(uuid)))
    {
        let mut near = Some(*at);
        while near.is_some_and(|at| !is_said(at)) {
            near = near.and_then(up);
        }
        let is_shown =
            |at: &usize| entries[*at]["isSidechain"] != true && entries[*at]["isMeta"] != true;
        leaves.extend(near.filter(is_shown));
    }
    let mut chain = Vec::new();
    let mut next = leaves.into_iter().max();
    while let Some(at) = next {
        chain.push(at);
        assert!(chain.len() <= entries.len(), "the chain is a circle");
        next = up(at);
    }
    let on_chain: HashSet<usize> = chain.iter().copied().collect();
    let answers: HashSet<&str> =
        chain.iter().filter_map(|at| entries[*at]["message"]["id"].as_str()).collect();
    let is_beside = |at: &usize| {
        let entry = &entries[*at];
        let shares = entry["message"]["id"].as_str().is_some_and(|id| answers.contains(id));
        let source = field(entry, "sourceToolAssistantUUID").and_then(|uuid| place.get(uuid));
        let of = source.and_then(|at| entries[*at]["message"]["id"].as_str());
        !on_chain.contains(at) && (shares || of.is_some_and(|id| answers.contains(id)))
    };
    chain.extend((0..entries.len()).filter(is_beside));
    chain.sort_unstable();
    let shown = chain.into_iter().filter(|at| is_said(*at) && entries[*at]["isMeta"] != true);
    shown.map(|at| entries[at].clone()).collect()
}

/// What was said, shortly: prompts, texts, calls, results.
pub(crate) fn summarize(entries: &[Value]) -> Vec<String> {
    let mut told = Vec::new();
    for entry in conversation(entries) {
        match &entry["message"]["content"] {
            Value::String(text) => told.push(format!("> {text}")),
            content => told.extend(content.as_array().expect("blocks").iter().map(|block| {
                match block["type"].as_str() {
                    Some("text") => block["text"].as_str().expect("text").to_owned(),
                    Some("tool_use") => format!("call {}", block["id"].as_str().expect("an id")),
                    Some("tool_result") => {
                        format!("result {}", block["tool_use_id"].as_str().expect("an id"))
                    }
                    other => format!("{other:?}"),
                }
            })),
        }
    }
    told
}

pub(crate) fn working() -> Rehearsal {
    let both = ScriptedAnswer::text("Looking.")
        .tool_with_id("call_1", "Bash", json!({"command": "echo one"}))
        .tool_with_id("call_2", "Bash", json!({"command": "echo two"}));
    let script = Script::new()
        .answer(both)
        .answer(ScriptedAnswer::text("One and two."))
        .answer(ScriptedAnswer::text("Noted.").repeat(0));
    play(script)
}

#[test]
fn every_kept_session_has_one_that_its_readers_understand() {
    let dirs = TestDirs::new();
    let server = working();
    let flags = ["--session-id", SESSION, "--dangerously-skip-permissions", "-p", "look twice"];
    ask(&dirs, &server, &flags);
    let found = files(&projects(&dirs));
    assert_eq!(found.len(), 1, "{found:?}");
    let work = dirs.work().canonicalize().expect("the folder");
    let key: String = work
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    assert!(found[0].ends_with(format!("{key}/{SESSION}.jsonl")), "{found:?}");
    let lines = entries(&found[0]);
    let expected = [
        "> look twice",
        "Looking.",
        "call call_1",
        "call call_2",
        "result call_1",
        "result call_2",
        "One and two.",
    ];
    assert_eq!(summarize(&lines), expected);
    for line in &lines {
        assert_eq!(line["sessionId"], SESSION);
        assert_eq!(line["cwd"], work.to_string_lossy().as_ref());
    }
    // Goes on in the same chain, with a name near the end.
    ask(&dirs, &server, &["-r", SESSION, "-p", "thanks", "-n", "twice"]);
    let lines = entries(&found[0]);
    assert_eq!(summarize(&lines)[expected.len()..], ["> thanks", "Noted."]);
    assert!(lines.iter().any(|line| line["customTitle"] == "twice"), "{lines:#?}");
    ask(&dirs, &server, &["--no-session-persistence", "-p", "nothing of this"]);
    assert_eq!(files(&projects(&dirs)), found);
}

#[test]
fn one_that_was_lost_or_cut_is_whole_again_when_the_session_goes_on() {
    let dirs = TestDirs::new();
    let server = working();
    ask(&dirs, &server, &["--session-id", SESSION, "--allowedTools", "Bash", "-p", "look"]);
    let path = files(&projects(&dirs)).remove(0);
    let whole = std::fs::read(&path).expect("a transcript");
    for cut in [0, whole.len() / 3, whole.len() - 1, whole.len()] {
        std::fs::write(&path, &whole[..cut]).expect("a cut");
        ask(&dirs, &server, &["-c", "-p", "and on"]);
        let text = std::fs::read_to_string(&path).expect("a transcript");
        let lines: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let told = summarize(&lines);
        assert_eq!(told[..2], ["> look", "Looking."], "{cut}");
        assert_eq!(told[told.len() - 2..], ["> and on", "Noted."], "{cut}");
    }
    std::fs::remove_file(&path).expect("it is there");
    ask(&dirs, &server, &["-c", "-p", "once more"]);
    assert_eq!(summarize(&entries(&path))[0], "> look");
}

#[test]
fn they_can_be_moved_and_switched_off() {
    let dirs = TestDirs::new();
    let server = working();
    let elsewhere = dirs.home().join("elsewhere");
    let config = dirs.config(&format!("transcripts = {:?}\n", elsewhere.to_string_lossy()));
    ask(&dirs, &server, &["-p", "hi", "--allowedTools", "Bash"]);
    assert_eq!(files(&elsewhere).len(), 1);
    std::fs::write(&config, "transcripts = false\n").expect("a file");
    ask(&dirs, &server, &["-p", "hi"]);
    assert_eq!(files(&elsewhere).len(), 1);
    assert!(!projects(&dirs).exists());
    std::fs::write(&config, "transcripts = \"here\"\n").expect("a file");
    let finished = run(&mut dirs.asking(&server.url(), &["-p", "hi"]));
    assert!(finished.error_line(2).contains("absolute path"), "{finished:?}");
    // One that cannot be written costs nothing else.
    std::fs::write(dirs.file("a-file"), "").expect("a file");
    let place = dirs.file("a-file/below");
    std::fs::write(&config, format!("transcripts = {:?}\n", place.to_string_lossy()))
        .expect("a file");
    let finished = run(&mut dirs.asking(&server.url(), &["--verbose", "-p", "hi"]));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stderr.contains("no longer written"), "{finished:?}");
}

#[test]
fn an_agent_has_one_of_its_own_beside_it() {
    let dirs = TestDirs::new();
    let task = json!({"description": "count", "prompt": "count the files"});
    let script = Script::new()
        .answer(ScriptedAnswer::empty().tool_with_id("call_agent", "Agent", task))
        .answer(ScriptedAnswer::text("There are three."))
        .answer(ScriptedAnswer::text("Three."));
    let server = play(script);
    ask(&dirs, &server, &["--session-id", SESSION, "--allowedTools", "Agent", "-p", "how many?"]);
    let found = files(&projects(&dirs));
    let names: Vec<String> = found
        .iter()
        .map(|path| path.to_string_lossy().rsplit('/').next().expect("a name").to_owned())
        .collect();
    let agent = names.iter().find(|name| name.starts_with("agent-") && name.ends_with(".jsonl"));
    let agent = found.iter().find(|path| path.ends_with(agent.expect("an agent"))).expect("it");
    assert!(agent.to_string_lossy().contains(&format!("/{SESSION}/subagents/")), "{agent:?}");
    let lines = entries(agent);
    assert!(lines.iter().all(|line| line["isSidechain"] == true && line["sessionId"] == SESSION));
    let own: Vec<&str> = lines.iter().filter_map(|line| line["uuid"].as_str()).collect();
    let main =
        entries(found.iter().find(|path| path.ends_with(format!("{SESSION}.jsonl"))).expect("one"));
    assert!(main.iter().all(|line| !own.contains(&line["uuid"].as_str().unwrap_or_default())));
    let meta = std::fs::read_to_string(agent.with_extension("meta.json")).expect("who it is");
    let meta: Value = serde_json::from_str(&meta).expect("JSON");
    assert_eq!(meta["toolUseId"], "call_agent");
    assert_eq!(meta["agentType"], "general-purpose");
}

fn uuid_of(lines: &[Value], text: &str) -> String {
    let is_meant = |line: &&Value| {
        let content = &line["message"]["content"];
        content == text || content[0]["text"] == text
    };
    let line = lines.iter().find(is_meant).unwrap_or_else(|| panic!("{text} is not there"));
    line["uuid"].as_str().expect("a name").to_owned()
}

fn counting() -> Rehearsal {
    let answers = (1..9).map(|number| ScriptedAnswer::text(format!("Answer {number}.")));
    play(answers.collect::<Script>())
}

pub(crate) fn requested(server: &Rehearsal) -> String {
    server.requests().pop().expect("a request").json().expect("JSON")["messages"].to_string()
}

/// A session of three prompts, and its transcript.
fn three_prompts(dirs: &TestDirs, server: &Rehearsal) -> (PathBuf, Vec<Value>) {
    for (number, flags) in [&["--session-id", SESSION][..], &["-c"], &["-c"]].iter().enumerate() {
        let prompt = format!("Prompt {number}.");
        let mut arguments = flags.to_vec();
        arguments.extend(["-p", &prompt]);
        ask(dirs, server, &arguments);
    }
    let path = files(&projects(dirs)).remove(0);
    let lines = entries(&path);
    (path, lines)
}

const KEPT: [&str; 4] = ["> Prompt 0.", "Answer 1.", "> Prompt 1.", "Answer 2."];

#[test]
fn a_copy_goes_on_behind_any_message_and_leaves_the_session_as_it_is() {
    let dirs = TestDirs::new();
    let server = counting();
    let (path, lines) = three_prompts(&dirs, &server);
    let journal = dirs.journals().remove(0);
    let before = std::fs::read(&journal).expect("a journal");
    let at = format!("--resume-session-at={}", uuid_of(&lines, "Answer 2."));
    let drops = format!("--resume-drops-turn={}", uuid_of(&lines, "Prompt 2."));
    let resume = format!("--resume={SESSION}");
    let copy = ask(&dirs, &server, &[&resume, "--fork-session", &at, &drops, "-p", "Other."]);
    let words = requested(&server);
    assert!(words.contains("Answer 2.") && !words.contains("Prompt 2."), "{words}");
    assert_eq!(std::fs::read(&journal).expect("a journal"), before);
    assert_eq!(entries(&path), lines);
    let id = copy["session_id"].as_str().expect("an id");
    let copied = entries(&path.with_file_name(format!("{id}.jsonl")));
    assert_eq!(summarize(&copied)[..4], KEPT);
    assert_eq!(summarize(&copied)[4..], ["> Other.", "Answer 4."]);
    assert!(copied.iter().all(|line| line["sessionId"] == id));
}

#[test]
fn what_would_be_forgotten_must_be_that_turn_and_nothing_else() {
    let dirs = TestDirs::new();
    let server = counting();
    let (_, lines) = three_prompts(&dirs, &server);
    let named = |text: &str| uuid_of(&lines, text);
    let dropped = named("Prompt 2.");
    let first = named("Prompt 0.");
    let resume = format!("--resume={SESSION}");
    let cases = [
        (named("Answer 2."), &first),
        (named("Answer 1."), &dropped),
        (first.clone(), &dropped),
        (named("Answer 3."), &dropped),
    ];
    let flags = |at: &str, drops: &str| {
        [format!("--resume-session-at={at}"), format!("--resume-drops-turn={drops}")]
    };
    let refused = |is_kept: bool| {
        for (at, drops) in &cases {
            let [at, drops] = flags(at, drops);
            let asked = [&resume, &at, &drops, "-p", "no"];
            let line = run(&mut dirs.asking(&server.url(), &asked)).error_line(1).to_owned();
            let words = "Resume rejected by --resume-drops-turn:";
            assert!(line.contains(words), "kept: {is_kept}: {line}");
        }
    };
    refused(true);
    let wrong =
        [&["--resume-session-at=x", "-p", "hi"][..], &["-c", "--resume-session-at=x", "-p", "hi"]];
    for wrong in wrong {
        run(&mut dirs.asking(&server.url(), wrong)).error_line(2);
    }
    assert_eq!(server.request_count(), 3);
    // The same where nothing but the transcript is there.
    let sessions = dirs.journals().remove(0).ancestors().nth(2).expect("a folder").to_owned();
    std::fs::remove_dir_all(sessions).expect("a folder");
    refused(false);
    let [at, drops] = flags(&named("Answer 2."), &dropped);
    ask(&dirs, &server, &[&resume, &at, &drops, "-p", "Other."]);
    let words = requested(&server);
    assert!(words.contains("Answer 2.") && !words.contains("Prompt 2."), "{words}");
}

#[test]
fn a_session_is_found_by_the_name_another_program_gave_it() {
    use std::io::Write;
    let dirs = TestDirs::new();
    let server = counting();
    let (path, _) = three_prompts(&dirs, &server);
    let name = |title: &str| {
        let line = json!({"type": "custom-title", "customTitle": title, "sessionId": SESSION});
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("a file");
        writeln!(file, "{line}").expect("a line");
    };
    name("A first name");
    name("Given elsewhere");
    let result = ask(&dirs, &server, &["-r", "given Elsewhere", "-p", "Again."]);
    assert_eq!(result["session_id"], SESSION);
    assert!(requested(&server).contains("Answer 3."));
    run(&mut dirs.asking(&server.url(), &["-r", "A first name", "-p", "no"])).error_line(2);
    let sessions = dirs.journals().remove(0).ancestors().nth(2).expect("a folder").to_owned();
    std::fs::remove_dir_all(sessions).expect("a folder");
    let result = ask(&dirs, &server, &["-r", "Given elsewhere", "-p", "Once more."]);
    assert_eq!(result["session_id"], SESSION);
    assert!(requested(&server).contains("Again."));
}

#[test]
fn a_session_goes_back_under_its_own_id_and_its_chain_branches() {
    let dirs = TestDirs::new();
    let server = counting();
    let (path, lines) = three_prompts(&dirs, &server);
    let at = format!("--resume-session-at={}", uuid_of(&lines, "Answer 2."));
    let resume = format!("--resume={SESSION}");
    let result = ask(&dirs, &server, &[&resume, &at, "-p", "Again."]);
    assert_eq!(result["session_id"], SESSION);
    let words = requested(&server);
    assert!(words.contains("Answer 2.") && !words.contains("Prompt 2."), "{words}");
    ask(&dirs, &server, &[&resume, "-p", "And on."]);
    assert!(requested(&server).contains("Again."));
    let lines = entries(&path);
    assert_eq!(summarize(&lines)[..4], KEPT);
    assert_eq!(summarize(&lines)[4..], ["> Again.", "Answer 4.", "> And on.", "Answer 5."]);
    assert!(lines.iter().any(|line| line["message"]["content"] == "Prompt 2."));
    let shown = run(&mut dirs.windlass(&["sessions", "show", SESSION]));
    assert!(shown.answer().contains("> Again."), "{shown:?}");
    assert!(!shown.stdout.contains("Prompt 2."), "{shown:?}");
}

/// A file that a prompt mentions stands in the transcript as what it is; the prompt stays one text.
#[test]
fn a_mentioned_file_is_a_line_of_its_own() {
    let dirs = TestDirs::new();
    let outside = dirs.home().join("note.txt");
    std::fs::write(&outside, "The marker is cedar.\n").expect("a file");
    let server = play(Script::new().answer(ScriptedAnswer::text("Over.")));
    let prompt = format!("What does it say? @{}", outside.display());
    // Whether the model may read is another question.
    ask(&dirs, &server, &["-p", &prompt, "--tools", ""]);
    let lines = entries(&files(&projects(&dirs))[0]);
    let said = lines.iter().find(|line| line["type"] == "user").expect("a prompt");
    let text = said["message"]["content"].as_str().expect("one text");
    assert!(text.starts_with(&prompt), "{text}");
    let file = lines.iter().find(|line| line["type"] == "attachment").expect("a file");
    assert_eq!(file["attachment"]["type"], "file", "{file}");
    assert_eq!(file["attachment"]["filename"], json!(outside), "{file}");
    assert!(file["attachment"]["content"]["file"]["content"].to_string().contains("cedar"));
    assert_eq!(file["parentUuid"], said["uuid"], "it hangs below its prompt");
    let answer = lines.iter().find(|line| line["type"] == "assistant").expect("an answer");
    assert_eq!(answer["parentUuid"], file["uuid"], "the chain goes on");
}

fn frames(dirs: &TestDirs, server: &Rehearsal, arguments: &[&str]) -> Vec<Value> {
    let lines = ["--output-format", "stream-json", "--verbose", "--include-partial-messages"];
    let finished = run(dirs.asking(&server.url(), &lines).args(arguments));
    let frames = finished.stdout.lines().map(|line| serde_json::from_str(line).expect(line));
    frames.collect()
}

/// Programs that add up costs know an answer by its two ids, and sort and tell apart lines by time.
#[test]
fn an_answer_has_one_name_everywhere_and_every_line_a_time_of_its_own() {
    let dirs = TestDirs::new();
    let server = working();
    let frames = frames(&dirs, &server, &["--allowedTools", "Bash", "-p", "look twice"]);
    let lines = entries(&files(&projects(&dirs))[0]);
    let answers: Vec<&Value> = lines.iter().filter(|line| line["type"] == "assistant").collect();
    assert_eq!(answers.len(), 4, "{answers:#?}");
    let ids: Vec<[&Value; 2]> =
        answers.iter().map(|line| [&line["message"]["id"], &line["requestId"]]).collect();
    assert_eq!(
        ids,
        [["msg_1", "req_1"], ["msg_1", "req_1"], ["msg_1", "req_1"], ["msg_2", "req_2"]]
    );
    let told: Vec<&Value> = frames
        .iter()
        .filter(|frame| frame["type"] == "assistant")
        .map(|frame| &frame["message"]["id"])
        .collect();
    assert_eq!(told, ["msg_1", "msg_1", "msg_1", "msg_2"]);
    let begun = frames.iter().filter(|frame| frame["event"]["type"] == "message_start");
    let begun: Vec<&Value> = begun.map(|frame| &frame["event"]["message"]["id"]).collect();
    assert_eq!(begun, ["msg_1", "msg_2"]);
    let times: Vec<&str> = lines.iter().filter_map(|line| line["timestamp"].as_str()).collect();
    assert!(times.windows(2).all(|two| two[0] < two[1]), "{times:?}");
    // Summed as those programs do, it is what the run says it cost.
    let mut counted = HashMap::new();
    for line in &answers {
        let cost = line["costUSD"].as_f64().expect("a cost");
        counted.entry(line["requestId"].to_string()).or_insert(cost);
    }
    let sum: f64 = counted.values().sum();
    let total = frames.last().expect("a result")["total_cost_usd"].as_f64().expect("a total");
    assert!((sum - total).abs() < 1e-9, "{sum} {total}");
    // The journal knows these names too: a transcript that was lost has them again.
    let path = files(&projects(&dirs)).remove(0);
    std::fs::remove_file(&path).expect("it is there");
    ask(&dirs, &server, &["-c", "-p", "on"]);
    let again = entries(&path);
    let again = again.iter().filter(|line| line["type"] == "assistant").take(ids.len());
    let again: Vec<[&Value; 2]> =
        again.map(|line| [&line["message"]["id"], &line["requestId"]]).collect();
    assert_eq!(again, ids);
}

/// A gateway that counts its answers from one in every process.
#[test]
fn two_answers_of_one_name_stay_two() {
    let dirs = TestDirs::new();
    for prompt in ["look", "look again"] {
        ask(&dirs, &working(), &["-c", "--allowedTools", "Bash", "-p", prompt]);
    }
    let lines = entries(&files(&projects(&dirs))[0]);
    let mut answers: Vec<[String; 2]> = lines
        .iter()
        .filter(|line| line["type"] == "assistant")
        .map(|line| [line["message"]["id"].to_string(), line["requestId"].to_string()])
        .collect();
    answers.dedup();
    let distinct: HashSet<&[String; 2]> = answers.iter().collect();
    assert_eq!((answers.len(), distinct.len()), (4, 4), "{answers:?}");
}

#[test]
fn pieces_that_arrive_together_are_passed_on_one_by_one() {
    let dirs = TestDirs::new();
    let pieces = ScriptedAnswer::text("It comes in many small pieces.").chunk(2);
    let burst = pieces.encode_events(WireFormat::AnthropicMessages, 1).concat();
    let sent = String::from_utf8_lossy(&burst).matches("text_delta").count();
    let server = play(Script::new().answer(ScriptedAnswer::raw(burst)));
    let frames = frames(&dirs, &server, &["-p", "go"]);
    let deltas = frames.iter().filter(|frame| frame["event"]["delta"]["type"] == "text_delta");
    assert_eq!(deltas.count(), sent);
}
