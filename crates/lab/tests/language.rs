//! The language of scenarios itself: what is wrong is found, with its line; what is blessed plays.

use windlass_lab::scenario::{parse_scenario, run_scenario};

/// A scenario, the line of the first thing wrong with it, and words that say what.
const WRONG: &[(&str, usize, &str)] = &[
    ("", 1, "has no event"),
    ("> run\n", 1, "no event above"),
    ("user: hi\n    stray\n", 2, "no expectation above"),
    ("settings\n  nonsense 3\nuser: hi\n", 2, "no setting called `nonsense`"),
    ("settings\n  turns_max many\nuser: hi\n", 2, "expected a number, found `many`"),
    ("user: hi\nsettings\n", 2, "settings come before"),
    ("dance\n", 1, "nothing called `dance`"),
    ("model: text \"open\n", 1, "a quotation mark is not closed"),
    ("model: call c1 Bash {\"a\":\n", 1, "a brace is not closed"),
    ("model ends whenever\n", 1, "`whenever` is not a stop reason"),
    ("model fails badly\n", 1, "`badly` is not a kind of failure"),
    ("answer c1 perhaps\n", 1, "`allow` or `deny`, not `perhaps`"),
    ("hook pre c1 shrug\n", 1, "no verdict `shrug`"),
    // It can be read, but not here.
    ("user: hi\n> run\n> request 1 ...\ntool c1 ends: x\n", 4, "no call c1 is running"),
    ("timer\n", 1, "no such timer"),
    // It plays, but not as expected.
    ("user: hi\n", 1, "+ > run"),
    ("user: hi\n> run\n> request 1\n    user: \"ho\"\n", 3, "+     user: \"hi\""),
    ("user: hi\n> run\n> request 1 ...\n> finish completed\n", 4, "- > finish completed"),
    ("user: hi\n> request 1 ...\n> run\n", 2, "- > request 1"),
    ("user: hi\n> run\n> request 1\n", 3, "- > request 1"),
];

#[test]
fn what_is_wrong_is_found_with_its_line() {
    for (text, line, words) in WRONG {
        let problem = match parse_scenario(text) {
            Err(problem) => problem,
            Ok(script) => {
                let outcome = run_scenario(&script);
                let problems = outcome.differences.into_iter().chain(outcome.broken);
                let first = problems.into_iter().next();
                first.unwrap_or_else(|| panic!("nothing is wrong with {text:?}"))
            }
        };
        assert_eq!(problem.line, *line, "{text:?}: {}", problem.message);
        assert!(problem.message.contains(words), "{text:?}: {}", problem.message);
    }
}

/// Blessing fills in what is missing, keeps what matches as it was written, and is then content.
#[test]
fn what_is_blessed_plays() {
    let text = "\
# A comment stays.
user: \"long \" * 100
> run
> request 1
    user: \"long ...

model: text \"Done.\"
model ends end_turn
> finish prompt_too_long
";
    let blessed = run_scenario(&parse_scenario(text).expect("it can be read")).blessed;
    assert!(blessed.starts_with("# A comment stays.\n"), "{blessed}");
    assert!(blessed.contains("    user: \"long ...\n"), "{blessed}");
    assert!(blessed.ends_with("model ends end_turn\n> finish completed natural\n"), "{blessed}");
    let again = run_scenario(&parse_scenario(&blessed).expect("it can be read"));
    assert!(again.differences.is_empty() && again.broken.is_none(), "{again:?}");
    assert_eq!(again.blessed, blessed);
}
