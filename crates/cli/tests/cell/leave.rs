//! A command that fails because of its cell says so, and can be asked for outside.

use serde_json::json;

use crate::held_session::{for_each_user, last_tool_result};

const WRITER: &str = "#!/bin/bash\necho x > planted.txt || exit 3\n";

#[test]
fn a_command_that_fails_because_of_its_cell_says_what_to_ask_for() {
    for_each_user(|session| {
        session.plant_program("jq", WRITER);
        let told = session.run_bash(&[], "jq . a.json");
        assert!(told.contains("dangerouslyDisableSandbox"), "{told}");
        assert!(told.contains("judged to only read"), "{told}");
        // Nobody can be asked, so asking is refused with the reason.
        let call = json!({"command": "jq . a.json", "dangerouslyDisableSandbox": true});
        let (told, _) = session.run(&[], std::slice::from_ref(&call));
        let told = last_tool_result(&told);
        assert!(told.contains("outside the cell"), "{told}");
        assert!(!session.dirs.file("planted.txt").exists(), "{told}");
        // A yes runs it outside.
        let flags = ["--dangerously-skip-permissions"];
        let (told, _) = session.run(&flags, &[call]);
        assert!(session.dirs.file("planted.txt").exists(), "{told}");
    });
}
