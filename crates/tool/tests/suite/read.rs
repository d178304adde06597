//! The reading tool with real files of every kind.

use crate::world::{World, structured, text};

#[tokio::test]
async fn numbers_lines() {
    let world = World::new();
    let path = world.write("a.txt", "one\ntwo\n");
    let outcome = world.read(&path).await;
    assert_eq!(text(&outcome), "     1\tone\n     2\ttwo\n");
    let file = &structured(&outcome)["file"];
    assert_eq!(file["content"], "one\ntwo");
    assert_eq!(file["totalLines"], 2);
}
