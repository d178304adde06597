//! The corpus of attacks and harmless commands, each with what must come of it.
//!
//! A line of `tests/corpus/cases.jsonl` is a case as `check` reads it, with `category`, `expected`
//! and `why` beside. Harmless ones must be exactly allowed, all others exactly as expected.

use serde_json::Value;
use windlass_permission::file_system_view::NoFileSystem;
use windlass_permission::policy_check::{answer_case, render_report};

#[cfg(test)]
fn cases() -> Vec<Value> {
    let text = include_str!("corpus/cases.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_case_is_decided_as_expected() {
    let mut wrong = Vec::new();
    let cases = cases();
    for case in &cases {
        let (line, ok) = answer_case(&case.to_string(), &NoFileSystem);
        assert!(ok, "{line}");
        let got: Value = serde_json::from_str(&line).unwrap();
        if got["decision"] != case["expected"] {
            wrong.push(format!(
                "{} expected {} got {}: {}\n    {}\n    rules {}\n    {}",
                case["id"],
                case["expected"],
                got["decision"],
                case["why"],
                case["input"],
                case["rules"],
                got["reason"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[cfg(test)]
fn rank(decision: &Value) -> usize {
    ["allow", "ask", "deny"].iter().position(|known| decision == known).unwrap()
}

#[test]
fn no_part_is_stricter_than_the_whole() {
    for case in cases() {
        let (line, _) = answer_case(&case.to_string(), &NoFileSystem);
        let got: Value = serde_json::from_str(&line).unwrap();
        let parts = got["parts"].as_array().unwrap();
        let strictest = parts.iter().map(|part| rank(&part["decision"])).max().unwrap_or(0);
        assert!(strictest <= rank(&got["decision"]), "{line}");
        assert!(!parts.is_empty() || got["decision"] != "ask", "{line}");
    }
}

#[test]
fn ids_are_unique_and_every_case_says_why() {
    let mut ids: Vec<String> = Vec::new();
    for case in cases() {
        let id = case["id"].as_str().unwrap().to_owned();
        assert!(!ids.contains(&id), "{id} twice");
        assert!(case["why"].as_str().unwrap().len() > 3, "{id}");
        ids.push(id);
    }
    assert!(ids.len() >= 200, "{}", ids.len());
}

#[test]
fn a_line_that_is_no_case_says_what_is_wrong() {
    for (line, problem) in [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "a case is an object"),
        ("{\"id\":7}", "`tool` is missing"),
        ("{\"tool\":\"Bash\"}", "`input` is missing"),
        ("{\"tool\":\"Bash\",\"input\":3}", "`input` must be an object"),
        ("{\"tool\":\"Bash\",\"input\":{},\"mode\":\"x\"}", "`mode` is `x`"),
        ("{\"tool\":\"Bash\",\"input\":{},\"mode\":\"auto\"}", "there is no mode `auto`"),
        (
            "{\"tool\":\"Bash\",\"input\":{},\"rules\":{\"allow\":[\"Bash(\"]}}",
            "closing parenthesis",
        ),
        ("{\"tool\":\"Bash\",\"input\":{},\"rules\":{\"alow\":[]}}", "rules.alow"),
        ("{\"tool\":\"Bash\",\"input\":{},\"cwd\":\"x\"}", "absolute path"),
        ("{\"tool\":\"Bash\",\"input\":{},\"files\":{\"a\":{\"x\":1}}}", "files.a"),
        ("{\"tool\":\"Bash\",\"input\":{},\"interactive\":1}", "true or false"),
    ] {
        let (answer, ok) = answer_case(line, &NoFileSystem);
        let got: Value = serde_json::from_str(&answer).unwrap();
        assert!(!ok && got["error"].as_str().unwrap().contains(problem), "{line}: {answer}");
    }
    let (line, ok) =
        answer_case("{\"id\":7,\"tool\":\"Read\",\"input\":{\"file_path\":\"a\"}}", &NoFileSystem);
    assert!(ok && line.contains("\"id\":7"), "{line}");
}

#[test]
fn people_get_the_same_in_words() {
    let case = "{\"tool\":\"Bash\",\"input\":{\"command\":\"git log | head; make\\u202ex\"}}";
    let (line, _) = answer_case(case, &NoFileSystem);
    let report: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(report["decision"], "ask");
    let policy = windlass_permission::Policy {
        directories: vec!["/w/repo".to_owned()],
        can_ask: true,
        ..Default::default()
    };
    let call = windlass_vocabulary::ToolCall {
        id: "x".into(),
        name: "Bash".into(),
        input: windlass_vocabulary::Json::from_checked("{\"command\":\"git log | head; make\"}"),
        signature: None,
    };
    let text = render_report(&windlass_permission::policy_check::build_report(
        &policy,
        &call,
        &NoFileSystem,
    ));
    for words in ["ask: ", "allow git log", "allow head", "ask   make", "add: Bash(make:*)"] {
        assert!(text.contains(words), "{words} is not in:\n{text}");
    }
}

/// What is told of a part is what it does, and nothing else.
#[test]
fn effects_are_those_of_the_command() {
    let cases: &[(&str, &[&str])] = &[
        ("rm -rf x", &["run rm", "write /w/repo/x"]),
        ("rm -rf -- -a b", &["run rm", "write /w/repo/-a", "write /w/repo/b"]),
        ("cp -r a b", &["run cp", "read /w/repo/a", "write /w/repo/b"]),
        ("cp -t d a b", &["run cp", "read /w/repo/a", "read /w/repo/b", "write /w/repo/d"]),
        ("mv a b", &["run mv", "read /w/repo/a", "write /w/repo/b", "write /w/repo/a"]),
        ("tar -xzf a.tgz -C out", &["run tar", "read /w/repo/a.tgz", "write /w/repo/out"]),
        ("tar czf a.tgz src", &["run tar", "read /w/repo/src", "write /w/repo/a.tgz"]),
        ("sed -i s/a/b/ f", &["run sed", "read /w/repo/f", "write /w/repo/f"]),
        ("sed -n 1,5p f", &["run sed", "read /w/repo/f"]),
        ("touch -d yesterday f", &["run touch", "write /w/repo/f"]),
        ("chmod -R 755 f", &["run chmod", "write /w/repo/f"]),
        ("install -m 755 a b", &["run install", "read /w/repo/a", "write /w/repo/b"]),
        ("truncate -s 0 f", &["run truncate", "write /w/repo/f"]),
        ("sort -o out in", &["run sort", "read /w/repo/in", "write /w/repo/out"]),
        ("grep -rn foo src", &["run grep", "read /w/repo/src"]),
        ("head -n 5 x", &["run head", "read /w/repo/x"]),
        ("git commit -m 'x y'", &["run git"]),
        ("npm run test -- x", &["run npm"]),
        ("curl https://example.com", &["run curl"]),
        ("make > out 2>&1", &["run make", "write /w/repo/out"]),
        ("cat < in", &["run cat", "read /w/repo/in"]),
    ];
    for (command, expected) in cases {
        let case = serde_json::json!({
            "tool": "Bash", "input": {"command": command}, "files": {},
        });
        let (line, _) = answer_case(&case.to_string(), &NoFileSystem);
        let got: Value = serde_json::from_str(&line).unwrap();
        let effects: Vec<&str> = got["parts"][0]["effects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e.as_str().unwrap())
            .collect();
        assert_eq!(effects, *expected, "{command}");
    }
}
