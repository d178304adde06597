//! Files as nobody likes them: odd line ends, encodings, marks, attributes. An edit changes the
//! bytes it names and no other, whatever surrounds them.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use encoding_rs::Encoding;
use proptest::prelude::*;
use serde_json::json;

use crate::test_project::{TestProject, structured, text};

/// The bytes of a text in an encoding, with its mark where it needs one.
fn written(name: &str, text: &str) -> Vec<u8> {
    match name {
        "UTF-16LE" => [
            b"\xFF\xFE".to_vec(),
            text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
        ]
        .concat(),
        "UTF-16BE" => [
            b"\xFE\xFF".to_vec(),
            text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>(),
        ]
        .concat(),
        "UTF-8 with mark" => [b"\xEF\xBB\xBF", text.as_bytes()].concat(),
        name => {
            let (bytes, _, has_failed) = Encoding::for_label(name.as_bytes()).unwrap().encode(text);
            assert!(!has_failed, "{name} cannot write {text:?}");
            bytes.into_owned()
        }
    }
}

/// Texts long enough to be told apart, each with a place `SPOT` to change.
const CORPUS: &[(&str, &str, &str)] = &[
    ("utf-8", "größe\nSPOT\n日本\n", "wörter 語"),
    ("UTF-8 with mark", "größe\nSPOT\nend", "wörter 語"),
    ("UTF-16LE", "größe\r\nSPOT\r\n日本\r\n", "wörter 語"),
    ("UTF-16BE", "größe\nSPOT\n日本", "𝄞 語"),
    ("windows-1252", "Die Größe der Bücher für Mädchen\nSPOT\nÜbermäßig schöne Straße\n", "dürfen"),
    ("windows-1251", "Это обычный русский текст для проверки\nSPOT\nконец файла\n", "новое слово"),
    ("shift_jis", "これは日本語のテキストです。表示とソース\nSPOT\n終わり\n", "新しい文字"),
    ("gbk", "这是一个简单的中文文本文件用于测试\nSPOT\n文件结束了\n", "新的文字"),
    ("euc-kr", "이것은 한국어 문서 파일입니다 시험용\nSPOT\n끝입니다\n", "새로운 글자"),
];

#[tokio::test]
async fn an_edit_keeps_the_encoding_and_every_other_byte() {
    for (name, before, new) in CORPUS {
        for ends in ["\n", "\r\n"] {
            let project = TestProject::new();
            let before = before.replace("\r\n", "\n").replace('\n', ends);
            let path = project.write("a.txt", written(name, &before));
            let shown = project.read(&path).await;
            let lines: Vec<&str> = text(&shown).lines().collect();
            assert_eq!(lines[1], "     2\tSPOT", "{name}: {}", text(&shown));
            assert_eq!(lines[0], format!("     1\t{}", before.lines().next().unwrap()), "{name}");
            let input = json!({"file_path": path, "old_string": "SPOT", "new_string": new});
            let outcome = project.call("Edit", input).await;
            assert!(!outcome.is_error, "{name}: {}", text(&outcome));
            let after = written(name, &before.replace("SPOT", new));
            assert_eq!(std::fs::read(&path).unwrap(), after, "{name}");
            let patch = &structured(&outcome)["structuredPatch"][0]["lines"];
            assert!(patch.to_string().contains(&format!("+{new}")), "{name}: {patch}");
        }
    }
}

#[tokio::test]
async fn a_character_is_never_taken_for_half_of_another() {
    // In Shift_JIS the second byte of 表 is a backslash, the second of ソ too; in GBK and Big5
    // letters occur as second bytes.
    let project = TestProject::new();
    let text_before = "これは日本語のテキストです。表示とソース\nC:\\表\n終わり\n";
    let path = project.write("a.txt", written("shift_jis", text_before));
    project.read(&path).await;
    let input = json!({"file_path": path, "old_string": "\\", "new_string": "/"});
    let outcome = project.call("Edit", input).await;
    assert!(!outcome.is_error, "{}", text(&outcome));
    let expected = written("shift_jis", &text_before.replace('\\', "/"));
    assert_eq!(std::fs::read(&path).unwrap(), expected);

    // The bytes 0A 61 within two UTF-16 characters are not a line feed and an a.
    let path = project.write("b.txt", written("UTF-16BE", "\u{4e0a}\u{6162}\nab\n"));
    project.read(&path).await;
    let input = json!({"file_path": path, "old_string": "\na", "new_string": "\nx"});
    let outcome = project.call("Edit", input).await;
    assert!(text(&outcome).contains("at line 1"), "{}", text(&outcome));
    let expected = written("UTF-16BE", "\u{4e0a}\u{6162}\nxb\n");
    assert_eq!(std::fs::read(&path).unwrap(), expected);
}

#[tokio::test]
async fn what_an_encoding_cannot_write_is_refused_and_nothing_changes() {
    let project = TestProject::new();
    let before = written("windows-1252", "Die Größe der Bücher für Mädchen\n");
    let path = project.write("a.txt", &before);
    project.read(&path).await;
    let input = json!({"file_path": path, "old_string": "Bücher", "new_string": "本"});
    let outcome = project.call("Edit", input).await;
    assert!(outcome.is_error && text(&outcome).contains("has no `本` (U+672C)"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn replacing_all_of_a_file_keeps_what_reading_does_not_show() {
    let project = TestProject::new();
    let cases: &[(&str, &str, &str, &str)] = &[
        ("UTF-16LE", "größe\r\n", "neu\nund schön\n", "neu\r\nund schön\r\n"),
        ("UTF-8 with mark", "a\n", "b\n", "b\n"),
        ("utf-8", "a\r\nb\r\n", "c\nd\n", "c\r\nd\r\n"),
        ("utf-8", "a\r\nb\n", "c\nd\n", "c\nd\n"),
        ("windows-1252", "Die Größe der Bücher für Mädchen\n", "schön\n", "schön\n"),
    ];
    for (name, before, content, after) in cases {
        let path = project.write("a.txt", written(name, before));
        project.read(&path).await;
        let input = json!({"file_path": path, "content": content});
        let outcome = project.call("Write", input).await;
        assert!(!outcome.is_error, "{name}: {}", text(&outcome));
        assert_eq!(std::fs::read(&path).unwrap(), written(name, after), "{name}");
    }
    // What no longer fits becomes UTF-8, and is said to.
    let path = project.write("a.txt", written("windows-1252", "Größe für Mädchen\n"));
    project.read(&path).await;
    let outcome = project.call("Write", json!({"file_path": path, "content": "本\n"})).await;
    assert!(text(&outcome).contains("It is UTF-8 now"), "{}", text(&outcome));
    assert_eq!(std::fs::read(&path).unwrap(), "本\n".as_bytes());
}

#[tokio::test]
async fn mixed_line_ends_are_explained() {
    let project = TestProject::new();
    let path = project.write("a.txt", "one\r\ntwo\nthree\r\n");
    project.read(&path).await;
    let input = json!({"file_path": path, "old_string": "two\nthree\n", "new_string": "x\n"});
    let outcome = project.call("Edit", input).await;
    assert!(text(&outcome).contains("Only line ends differ"), "{}", text(&outcome));
    let input = json!({"file_path": path, "old_string": "two\nthree", "new_string": "x\ny"});
    assert!(!project.call("Edit", input).await.is_error);
    assert_eq!(std::fs::read(&path).unwrap(), b"one\r\nx\ny\r\n");
}

#[tokio::test]
async fn mode_owner_and_attributes_go_along() {
    let project = TestProject::new();
    let path = project.write("a.sh", "one\n");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o4751)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o4751)).unwrap();
    }
    // Not every file system has attributes; where it has, they stay.
    let flags = rustix::fs::XattrFlags::empty();
    let has_attributes = rustix::fs::setxattr(&path, "user.note", b"mine", flags).is_ok();
    let before = std::fs::metadata(&path).unwrap();
    project.read(&path).await;
    let input = json!({"file_path": path, "old_string": "one", "new_string": "two"});
    let outcome = project.call("Edit", input).await;
    assert!(!outcome.is_error, "{}", text(&outcome));
    let after = std::fs::metadata(&path).unwrap();
    assert_ne!(before.ino(), after.ino());
    assert_eq!((before.uid(), before.gid()), (after.uid(), after.gid()));
    assert_eq!(before.mode(), after.mode());
    if has_attributes {
        let mut value = [0_u8; 16];
        let length = rustix::fs::getxattr(&path, "user.note", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"mine");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    /// Any bytes at all around a mark that stands once: the result is a splice of bytes.
    #[test]
    fn an_edit_is_a_splice(
        before in proptest::collection::vec(any::<u8>().prop_filter("text", |b| *b != 0), 0..40),
        after in proptest::collection::vec(any::<u8>().prop_filter("text", |b| *b != 0), 0..40),
        new in "[ -~]{0,8}",
    ) {
        // Two bytes that would make the file UTF-16 are another test's.
        prop_assume!(!before.starts_with(b"\xFF\xFE") && !before.starts_with(b"\xFE\xFF"));
        let content = [before.as_slice(), b"\n@SPOT@\n", &after].concat();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (now, outcome) = runtime.block_on(async {
            let project = TestProject::new();
            let path = project.write("a.txt", &content);
            project.read(&path).await;
            let input = json!({"file_path": path, "old_string": "@SPOT@", "new_string": new});
            let outcome = project.call("Edit", input).await;
            (std::fs::read(&path).unwrap(), outcome)
        });
        let expected = [before.as_slice(), b"\n", new.as_bytes(), b"\n", &after].concat();
        prop_assert!(!outcome.is_error, "{:?}", outcome);
        prop_assert_eq!(now, expected);
    }
}

/// A file with two names: the one that was changed is told to stand alone now.
#[tokio::test]
async fn parting_hard_links_is_told() {
    let project = TestProject::new();
    for (name, input) in [
        ("Edit", json!({ "file_path": project.path("one"), "old_string": "b", "new_string": "B" })),
        ("Write", json!({ "file_path": project.path("one"), "content": "new\n" })),
    ] {
        let _ = std::fs::remove_file(project.path("two"));
        project.write("one", "a\nb\n");
        std::fs::hard_link(project.path("one"), project.path("two")).unwrap();
        project.call("Read", json!({ "file_path": project.path("one") })).await;
        let outcome = project.call(name, input.clone()).await;
        assert!(!outcome.is_error && text(&outcome).contains("2 names"), "{outcome:?}");
        assert_eq!(std::fs::read_to_string(project.path("two")).unwrap(), "a\nb\n");
        // It has one name now, and nothing more is to be said.
        let again = json!({ "file_path": project.path("one"), "content": "again\n" });
        let outcome = project.call("Write", again).await;
        assert!(!outcome.is_error && !text(&outcome).contains("names"), "{outcome:?}");
    }
}
