//! How the terminal calls the user: bell, notification, title; and what it remembers of its looks.

use serde_json::json;
use windlass_rehearsal::{Rehearsal, Script, ScriptedAnswer};

use super::talk::{ASKED, READY, Talk};
use crate::fixture::{TestDirs, play};

/// A call that asks, and an answer.
fn asking() -> Rehearsal {
    let script = Script::new()
        .answer(ScriptedAnswer::call("Bash", json!({"command": "touch made.txt"})))
        .answer(ScriptedAnswer::text("Over.").repeat(0));
    play(script)
}

/// Everything that was sent to a terminal that is asked something, and answers no.
fn talk_with(dirs: &TestDirs, variables: &[(&str, &str)]) -> String {
    let server = asking();
    let mut command = dirs.asking(&server.url(), &["go"]);
    command.envs(variables.iter().copied());
    let mut talk = Talk::begin(command);
    talk.until(ASKED);
    talk.key("n");
    talk.until("Over.");
    talk.until(READY);
    let sent = talk.sent();
    assert_eq!(talk.end(), Some(0));
    sent
}

const OSC_9: &str = "\u{1b}]9;Windlass needs your answer: Bash\u{7}";
const OSC_777: &str = "\u{1b}]777;notify;Windlass;Windlass needs your answer: Bash\u{7}";
const TITLE_WORKING: &str = "\u{1b}]2;Windlass: working\u{7}";
const TITLE_ASKING: &str = "\u{1b}]2;Windlass: needs your answer\u{7}";

#[test]
fn each_terminal_is_notified_in_its_own_way() {
    let dirs = TestDirs::new();
    assert!(talk_with(&dirs, &[("TERM_PROGRAM", "iTerm.app")]).contains(OSC_9));
    assert!(talk_with(&dirs, &[("TERM", "foot")]).contains(OSC_777));
    assert!(talk_with(&dirs, &[("WINDLASS_NOTIFY", "osc777")]).contains(OSC_777));
    // A title ends with a bell, too.
    let sent = talk_with(&dirs, &[]);
    let sent = [TITLE_ASKING, TITLE_WORKING, "\u{1b}]2;Windlass\u{7}"]
        .iter()
        .fold(sent, |sent, title| sent.replace(title, ""));
    assert!(sent.contains('\u{7}') && !sent.contains("\u{1b}]9"), "{sent:?}");
}

#[test]
fn the_title_says_what_is_going_on_and_is_given_back() {
    let dirs = TestDirs::new();
    let server = asking();
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    assert!(!talk.sent().contains("\u{1b}]2;"), "one that was only opened has none");
    talk.key("go\r");
    talk.until(ASKED);
    talk.until_sent(TITLE_ASKING);
    talk.key("n");
    talk.until("Over.");
    talk.until_sent("\u{1b}]2;Windlass\u{7}");
    let sent = talk.sent();
    let at = |words: &str| sent.find(words).unwrap_or_else(|| panic!("{words:?}: {sent:?}"));
    let saved = at("\u{1b}[22;2t");
    // On a slow machine the work may be over before a frame says that it goes on.
    let asked = at(TITLE_ASKING);
    assert!(saved < asked && asked < at("\u{1b}]2;Windlass\u{7}"), "{sent:?}");
    assert!(sent.find(TITLE_WORKING).is_none_or(|working| saved < working), "{sent:?}");
    talk.key("\u{4}");
    talk.until_sent("\u{1b}[23;2t");
    assert_eq!(talk.over().code(), Some(0));
}

/// By the settings, and by the environment, which counts more.
#[test]
fn the_user_is_called_as_settings_say() {
    let dirs = TestDirs::new();
    let folder = dirs.home().join(".claude");
    std::fs::create_dir_all(&folder).expect("a folder");
    let set = |channel: &str| {
        let settings = json!({"preferredNotifChannel": channel}).to_string();
        std::fs::write(folder.join("settings.json"), settings).expect("a file");
    };
    for off in ["off", "notifications_disabled"] {
        set(off);
        let sent = talk_with(&dirs, &[("TERM_PROGRAM", "WezTerm")]);
        for sign in ["\u{7}", "\u{1b}]9;", "\u{1b}]2;"] {
            assert!(!sent.contains(sign), "{off}: {sign:?} in {sent:?}");
        }
    }
    let sent = talk_with(&dirs, &[("WINDLASS_NOTIFY", "osc9")]);
    assert!(sent.contains(OSC_9) && sent.contains(TITLE_ASKING), "{sent:?}");
    set("osc777");
    assert!(talk_with(&dirs, &[("TERM_PROGRAM", "WezTerm")]).contains(OSC_777));
    set("auto");
    assert!(talk_with(&dirs, &[("TERM_PROGRAM", "WezTerm")]).contains(OSC_9));
}

#[test]
fn a_theme_is_remembered() {
    let dirs = TestDirs::new();
    let server = play(Script::new().answer(ScriptedAnswer::text("ok").repeat(0)));
    let light = "\u{1b}[1;34m> ";
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("/theme\r");
    talk.until("Choose a theme");
    talk.key("light\r");
    talk.until(READY);
    talk.key("hello\r");
    talk.until_sent(light);
    talk.until("ok");
    assert_eq!(talk.end(), Some(0));
    let mut talk = Talk::begin(dirs.asking::<&str>(&server.url(), &[]));
    talk.until(READY);
    talk.key("hello\r");
    talk.until_sent(light);
    talk.until("ok");
    assert!(!talk.sent().contains("\u{1b}]11;?"), "the terminal is not asked for its ground");
    talk.key("/theme\r");
    talk.until("light  current");
    talk.key("\u{1b}");
    talk.until(READY);
    assert_eq!(talk.end(), Some(0));
}
