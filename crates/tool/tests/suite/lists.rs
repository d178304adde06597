//! The model's lists: kept, bounded, put back.

use serde_json::json;
use windlass_tool::TaskLists;
use windlass_vocabulary::{Concurrency, EffectClass};

use crate::test_project::{TestProject, structured, text};

#[tokio::test]
async fn the_todo_list_is_written_whole_and_can_be_carried() {
    let project = TestProject::new();
    assert_eq!(project.context.model.task_lists().render(), None);
    let todo = |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": "Doing it"});
    let first = json!({"todos": [todo("look", "in_progress"), todo("fix", "pending")]});
    project.call("TodoWrite", first).await;
    let second = json!({"todos": [todo("look", "completed"), todo("fix", "in_progress"),
                                  todo("test", "pending")]});
    let outcome = project.call("TodoWrite", second).await;
    assert_eq!(text(&outcome), "Noted: 1 of 3 done.");
    assert_eq!(structured(&outcome)["oldTodos"][0]["status"], "in_progress");
    let lists = project.context.model.task_lists();
    assert_eq!(lists.render().unwrap(), "Todo list:\n[x] look\n[~] fix\n[ ] test\n");

    let kept = serde_json::to_string(&lists).unwrap();
    let other = TestProject::new();
    other.context.model.restore_task_lists(serde_json::from_str::<TaskLists>(&kept).unwrap());
    assert_eq!(other.context.model.task_lists(), lists);

    let inspection = project.inspect("TodoWrite", &json!({"todos": []}));
    assert_eq!(
        (inspection.class, inspection.concurrency),
        (EffectClass::Pure, Concurrency::Exclusive)
    );
    let wrong = [
        (
            json!({"todos": [{"content": "x", "status": "done", "activeForm": "X"}]}),
            "`todos[0].status`",
        ),
        (json!({"todos": [todo(" ", "pending")]}), "an entry without content"),
        (json!({"todos": vec![todo("x", "pending"); 501]}), "more than 500 entries"),
    ];
    for (input, why) in wrong {
        let problem = project.inspect("TodoWrite", &input).problem.unwrap();
        assert!(problem.contains(why), "{problem}");
    }
}

#[tokio::test]
async fn tasks_are_made_changed_and_ordered() {
    let project = TestProject::new();
    for subject in ["design", "build", "test"] {
        let input = json!({"subject": subject, "description": format!("{subject} it"),
                           "metadata": {"size": 1}});
        project.call("TaskCreate", input).await;
    }
    let update = async |input| project.call("TaskUpdate", input).await;
    let outcome = update(json!({"taskId": "2", "addBlockedBy": ["1"], "addBlocks": ["#3"],
                                "owner": "me", "metadata": {"size": null}}))
    .await;
    assert_eq!(text(&outcome), "Changed owner, metadata, blocks, blockedBy of task #2.");
    update(json!({"taskId": "1", "status": "completed"})).await;
    let listed = project.call("TaskList", json!({})).await;
    let expected = "[x] #1 design\n[ ] #2 build (me) waits for #1\n[ ] #3 test waits for #2\n";
    assert_eq!(text(&listed), expected);
    assert_eq!(project.context.model.task_lists().render().unwrap(), format!("Tasks:\n{expected}"));
    let one = project.call("TaskGet", json!({"taskId": "2"})).await;
    assert!(text(&one).ends_with("build it"));
    let expected = json!({"id": "2", "subject": "build", "description": "build it", "owner": "me",
                          "status": "pending", "blocks": ["3"], "blockedBy": ["1"]});
    assert_eq!(structured(&one)["task"], expected);

    // Nothing of a change that cannot be made is made.
    let before = project.context.model.task_lists();
    let refused = [
        (
            json!({"taskId": "1", "subject": "x", "addBlockedBy": ["3"]}),
            "Task #1 cannot wait for #3",
        ),
        (json!({"taskId": "1", "subject": "x", "addBlocks": ["1"]}), "cannot wait"),
        (json!({"taskId": "1", "subject": "x", "addBlocks": ["9"]}), "There is no task #9"),
        (json!({"taskId": "9", "subject": "x"}), "There is no task #9"),
    ];
    for (input, why) in refused {
        let outcome = update(input).await;
        assert!(outcome.is_error && text(&outcome).contains(why), "{}", text(&outcome));
    }
    assert_eq!(project.context.model.task_lists(), before);
    update(json!({"taskId": "2", "status": "deleted"})).await;
    let listed = project.call("TaskList", json!({})).await;
    assert_eq!(text(&listed), "[x] #1 design\n[ ] #3 test\n");
    let problem = project.inspect("TaskUpdate", &json!({"taskId": "two"})).problem.unwrap();
    assert!(problem.contains("field `taskId`"));
}
