//! Cassettes that are none, and what is said about them.

use std::fs;

use windlass_rehearsal::Cassette;
use windlass_rehearsal::cassette::ExchangeEnd;

const REQUEST: &str = r#"{"cassette":1,"request":{"method":"POST","path":"/a"}}"#;
const RESPONSE: &str = r#"{"response":{"status":200}}"#;
const END: &str = r#"{"end":"complete","millis":1}"#;

#[test]
fn what_is_no_cassette_is_refused_with_its_line() {
    let chunk = r#"{"millis":1,"chunk":{"text":"a"}}"#;
    for (lines, line, problem) in [
        (&["nonsense"][..], 1, "expected ident"),
        (&[r#"{"cassette":2,"request":{"method":"POST","path":"/a"}}"#], 1, "version 1"),
        (&[r#"{"cassette":1}"#], 1, "begins with its `request`"),
        (&[END], 1, "does not belong here"),
        (&[REQUEST, chunk], 2, "does not belong here"),
        (&[REQUEST, RESPONSE, RESPONSE], 3, "does not belong here"),
        (&[REQUEST, REQUEST], 2, "does not belong here"),
        (&[REQUEST, RESPONSE, chunk], 3, "has no `end`"),
        (&[REQUEST, r#"{"response":{"status":99}}"#], 2, "from 200 to 999"),
        (&[REQUEST, r#"{"end":"soon","millis":1}"#], 2, "complete, cut, reset or silent"),
        (&[REQUEST, RESPONSE, r#"{"millis":1,"chunk":{}}"#], 3, "one of `json`, `text`"),
        (&[REQUEST, RESPONSE, r#"{"millis":1,"chunk":{"base64":"?"}}"#], 3, "`base64` is not"),
        (&[REQUEST, RESPONSE, r#"{"millis":1,"chunk":{"text":"","after":"f"}}"#], 3, "hexadecimal"),
        (&[REQUEST, r#"{"respond":{}}"#], 2, "unknown field `respond`"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("0001.jsonl");
        fs::write(&path, lines.join("\n")).expect("write");
        let words = Cassette::load(folder.path()).expect_err("no cassette").to_string();
        let place = format!("{}, line {line}: ", path.display());
        assert!(words.starts_with(&place) && words.contains(problem), "{words}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.jsonl");
    fs::write(&path, [REQUEST.as_bytes(), b"\n\xff"].concat()).expect("write");
    let words = Cassette::load(&path).expect_err("no cassette").to_string();
    assert!(words.contains("line 2: this is not UTF-8"), "{words}");
}

#[test]
fn a_folder_without_recordings_and_no_folder_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("README.md"), "nothing here").expect("write");
    let words = Cassette::load(folder.path()).expect_err("empty").to_string();
    assert!(words.contains("holds no recording"), "{words}");
    let words = Cassette::load(folder.path().join("x")).expect_err("missing").to_string();
    assert!(words.starts_with("cannot read the cassette"), "{words}");
    fs::create_dir(folder.path().join("0001.jsonl")).expect("a folder");
    let words = Cassette::load(folder.path()).expect_err("a folder in it").to_string();
    assert!(words.contains("it is not a file"), "{words}");
}

#[test]
fn files_are_read_in_the_order_of_their_names_and_may_be_put_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let exchange = |path: &str| [&REQUEST.replace("/a", path), RESPONSE, END].join("\n");
    fs::write(folder.path().join("0002.jsonl"), exchange("/b")).expect("write");
    fs::write(folder.path().join("0001.jsonl"), exchange("/a")).expect("write");
    fs::write(folder.path().join("one.txt"), [exchange("/c"), exchange("/d")].join("\n\n"))
        .expect("write");
    let paths = [folder.path().to_owned(), folder.path().join("one.txt")];
    let cassette: Cassette =
        paths.iter().map(Cassette::load).collect::<Result<_, _>>().expect("a cassette");
    let paths: Vec<_> = cassette.exchanges().iter().map(|one| one.request.path.as_str()).collect();
    assert_eq!(paths, ["/a", "/b", "/c", "/d"]);
    assert!(cassette.exchanges().iter().all(|one| one.end == ExchangeEnd::Complete));
}
