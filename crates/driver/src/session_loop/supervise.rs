//! Runs a session in a task, and reports its end even after a panic.

use std::path::PathBuf;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use windlass_engine::State;

use crate::notices::NoticeSender;
use crate::panic_guard;

/// Runs a session in a task, and reports its end even after a panic.
pub(crate) async fn supervise(
    run: impl Future<Output = State> + Send + 'static,
    notice_sender: NoticeSender,
    scratch: Option<PathBuf>,
    over: watch::Sender<bool>,
) {
    if let Err(error) = tokio::spawn(run).await {
        let words = match error.try_into_panic() {
            Ok(panic) => panic_guard::panic_message(&*panic),
            Err(_) => "the runtime is shutting down".to_owned(),
        };
        notice_sender
            .fail(format!("the session ended because of a fault inside Windlass: {words}"));
    }
    if let Some(scratch) = scratch
        && std::fs::remove_dir(&scratch).is_err()
    {
        // Best effort: the directory is in the system's temporary directory and only this session
        // used it.
        let _ = spawn_blocking(move || std::fs::remove_dir_all(scratch)).await;
    }
    if let Some(watch) = notice_sender.watch() {
        watch.finish().await;
    }
    notice_sender.close();
    let _ = over.send(true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notices;
    use windlass_vocabulary::Notice;

    #[tokio::test]
    async fn a_panic_of_the_session_ends_the_run_and_not_the_process() {
        let (notice_sender, mut notices) = notices::channel(false);
        let (over, closed) = watch::channel(false);
        notice_sender.send(Notice::RunStarted);
        let run = async { panic!("the loop must come nearer to its end") };
        supervise(run, notice_sender, None, over).await;
        let ending = notices.wait_for_run_end().await.unwrap();
        assert!(ending.why.contains("nearer to its end"), "{ending:?}");
        assert_eq!(notices.next().await, None);
        assert!(*closed.borrow());
    }
}
