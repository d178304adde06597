//! The reading tool with real files of every kind.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use base64::Engine;
use image::ImageFormat;
use serde_json::json;
use windlass_vocabulary::ToolResultPart;

use crate::picture::{packed, smooth};
use crate::test_project::{TestProject, is_alone, structured, text};

#[tokio::test]
async fn shows_numbered_lines() {
    let project = TestProject::new();
    // (content, input besides the path, what is shown)
    let cases = [
        ("one\ntwo\n", json!({}), "     1\tone\n     2\ttwo\n"),
        ("one\ntwo", json!({}), "     1\tone\n     2\ttwo\n"),
        ("", json!({}), "[The file is empty]\n"),
        ("\n\n", json!({}), "     1\t\n     2\t\n"),
        (
            "a\nb\nc\nd\n",
            json!({"offset": 2, "limit": 2}),
            "     2\tb\n     3\tc\n[4 lines in all; the next is offset 4]\n",
        ),
        ("a\nb\n", json!({"offset": "2", "limit": 5.0}), "     2\tb\n"),
        ("a\r\nb\r\n", json!({}), "     1\ta\n     2\tb\n[Lines end in CR LF]\n"),
        ("\u{feff}a\n", json!({}), "     1\ta\n"),
        ("a\u{1b}[31m\n", json!({}), "     1\ta\u{1b}[31m\n"),
    ];
    for (content, mut input, expected) in cases {
        let path = project.write("a.txt", content);
        input["file_path"] = json!(path);
        let outcome = project.call("Read", input.clone()).await;
        assert_eq!(text(&outcome), expected, "{content:?} {input}");
        assert!(!outcome.is_error && !outcome.changed_workspace);
    }
    project.write("a.txt", b"caf\xe9\n");
    assert_eq!(
        text(&project.call("Read", json!({"file_path": "a.txt"})).await),
        "     1\tcafé\n[The file is written in windows-1252; edits keep that]\n"
    );
    project.write("a.txt", "a\nb\nc\n");
    let range = json!({"file_path": "a.txt", "offset": 2, "limit": 1});
    let expected = json!({"type": "text", "file": {
        "filePath": project.path("a.txt"), "content": "b",
        "numLines": 1, "startLine": 2, "totalLines": 3,
    }});
    assert_eq!(structured(&project.call("Read", range).await), expected);
}

#[tokio::test]
async fn long_files_and_long_lines_are_cut_and_say_so() {
    let project = TestProject::new();
    let many: String = (1..=3000).map(|n| format!("{n}\n")).collect();
    let path = project.write("many", &many);
    let outcome = project.read(&path).await;
    assert!(
        text(&outcome).ends_with("  2000\t2000\n[3000 lines in all; the next is offset 2001]\n")
    );

    let path = project.write("wide", format!("{}\nnext\n", "é".repeat(5000)));
    let outcome = project.read(&path).await;
    let expected = format!(
        "     1\t{}\n     2\tnext\n[1 lines were cut at 2000 characters]\n",
        "é".repeat(2000)
    );
    assert_eq!(text(&outcome), expected);

    let path = project.write("both", format!("{}\n", "x".repeat(1900)).repeat(200));
    let outcome = project.read(&path).await;
    assert!(text(&outcome).len() < 110_000);
    assert!(text(&outcome).ends_with("[200 lines in all; the next is offset 53]\n"));
}

#[tokio::test]
async fn refuses_what_is_not_a_readable_text_file() {
    let project = TestProject::new();
    project.write("binary", b"ab\0cd");
    project.write("program", b"\x7fELF\x02\x01\x01\0\0");
    std::fs::create_dir(project.path("directory")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, project.path("fifo"), fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(project.path("socket")).unwrap();
    std::os::unix::fs::symlink("loop", project.path("loop")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", project.path("link")).unwrap();
    std::os::unix::fs::symlink("directory", project.path("inner")).unwrap();
    project.write("directory/file", "x");
    let long = "x".repeat(300);
    let cases = [
        ("binary", "is a binary file"),
        ("program", "is a program (ELF)"),
        ("directory", "is a directory"),
        ("fifo", "is a named pipe"),
        ("socket", "socket"),
        ("loop", "symbolic link that ends nowhere"),
        ("link", "leads over a symbolic link to `/etc/passwd`"),
        ("inner/file", "leads over a symbolic link to `"),
        ("missing/a.txt", "does not exist. The nearest directory that does is `"),
        ("binary/x", "Not a directory"),
        (long.as_str(), "File name too long"),
        ("/dev/zero", "is not a file on disk"),
        ("/proc/self/environ", "is not a file on disk"),
        ("~/x", "is not expanded"),
        ("", "is empty"),
        ("a\0b", "NUL"),
    ];
    let began = Instant::now();
    for (path, expected) in cases {
        let outcome = project.call("Read", json!({"file_path": path})).await;
        assert!(outcome.is_error, "{path}");
        assert!(text(&outcome).contains(expected), "{path}: {}", text(&outcome));
    }
    assert!(began.elapsed() < Duration::from_secs(60));
    let outcome =
        project.call("Read", json!({"file_path": project.write("a", "x\n"), "offset": 5})).await;
    assert!(text(&outcome).ends_with("has 1 lines; there is no line 5."));
}

#[tokio::test]
async fn a_range_of_a_huge_file_is_read_in_little_memory() {
    let project = TestProject::new();
    let path = project.path("huge");
    let mut file = File::create(&path).unwrap();
    file.write_all("line\n".repeat(10_000).as_bytes()).unwrap();
    // The rest is a hole that would take hours to read.
    file.seek(SeekFrom::Start(4_000_000_000_000)).unwrap();
    file.write_all(b"\nlast\n").unwrap();
    let began = Instant::now();
    let input = json!({"file_path": path, "offset": 9_000, "limit": 2});
    let outcome = project.call("Read", input).await;
    assert_eq!(
        text(&outcome),
        "  9000\tline\n  9001\tline\n[More may follow; the next line is offset 9002]\n"
    );
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

/// T14: of a gigabyte, only what leads to the range is read.
#[tokio::test]
async fn a_range_of_a_gigabyte_reads_little_of_it() {
    if !is_alone("read::a_range_of_a_gigabyte_reads_little_of_it") {
        return;
    }
    let project = TestProject::new();
    let path = project.path("huge");
    let mut file = File::create(&path).unwrap();
    file.write_all("line\n".repeat(200_000).as_bytes()).unwrap();
    file.set_len(1_000_000_000).unwrap();
    let read = || -> u64 {
        let io = std::fs::read_to_string("/proc/self/io").unwrap();
        io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
    };
    for (offset, bytes_max) in [(1, 1_000_000), (100_000, 2_000_000)] {
        let before = read();
        let input = json!({"file_path": path, "offset": offset, "limit": 10});
        let outcome = project.call("Read", input).await;
        assert!(text(&outcome).starts_with(&format!("{offset:>6}\tline\n")));
        let bytes = read() - before;
        assert!(bytes < bytes_max, "{bytes} bytes were read for line {offset}");
    }
}

/// T11: out of file descriptors, every tool says so and the next call works.
#[tokio::test]
async fn too_many_open_files_are_told_with_what_to_do() {
    if !is_alone("read::too_many_open_files_are_told_with_what_to_do") {
        return;
    }
    let project = TestProject::new();
    let path = project.write("a.txt", "x\n");
    project.bash("true").await;
    let mut held = Vec::new();
    let limit = rustix::process::Rlimit { current: Some(64), maximum: Some(64) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    while let Ok(file) = File::open("/dev/null") {
        held.push(file);
    }
    for outcome in [
        project.read(&path).await,
        project.bash("echo hi").await,
        project.call("Glob", json!({"pattern": "*"})).await,
        project.call("Write", json!({"file_path": project.path("new"), "content": "y"})).await,
    ] {
        let shown = text(&outcome);
        assert!(outcome.is_error && shown.contains("Too many open files"), "{shown}");
    }
    drop(held);
    assert_eq!(text(&project.read(&path).await), "     1\tx\n");
    assert_eq!(text(&project.bash("echo hi").await), "hi");
}

#[tokio::test]
async fn the_second_look_into_a_huge_file_begins_near_by() {
    let project = TestProject::new();
    let path = project.path("huge");
    let mut file = File::create(&path).unwrap();
    file.write_all(format!("first\n{}", "x".repeat(10_000)).as_bytes()).unwrap();
    // Lines of eight megabytes each, most of it holes.
    for number in 1..=40_u64 {
        file.seek(SeekFrom::Start(number * 8_000_000)).unwrap();
        file.write_all(b"\n").unwrap();
    }
    file.write_all(b"here\nand here\n").unwrap();
    let took = async |offset: u64| {
        let began = Instant::now();
        let input = json!({"file_path": path, "offset": offset, "limit": 1});
        let outcome = project.call("Read", input).await;
        (text(&outcome).lines().next().unwrap().to_owned(), began.elapsed())
    };
    let (shown, first) = took(42).await;
    assert_eq!(shown, "    42\there");
    // The shortest of a few: a busy machine may interrupt any one of them.
    let mut second = Duration::MAX;
    for _ in 0..5 {
        let (shown, again) = took(43).await;
        assert_eq!(shown, "    43\tand here");
        second = second.min(again);
    }
    assert!(second * 4 < first, "{second:?} after {first:?}");
    let mut third = Duration::MAX;
    for _ in 0..5 {
        let (shown, again) = took(1).await;
        assert_eq!(shown, "     1\tfirst");
        third = third.min(again);
    }
    assert!(third * 4 < first, "{third:?} after {first:?}");
}

#[tokio::test]
async fn images_are_shown_as_images() {
    let project = TestProject::new();
    for (format, kind) in FORMATS {
        let bytes = packed(smooth(30, 20), format);
        let path = project.write("picture.txt", &bytes);
        let outcome = project.read(&path).await;
        let [ToolResultPart::Media(media)] = outcome.content.as_slice() else {
            panic!("{outcome:?}");
        };
        assert_eq!(&*media.media_type, kind);
        assert_eq!(&*media.name, "picture.txt");
        let data = base64::prelude::BASE64_STANDARD.decode(&*media.data).unwrap();
        assert_eq!(data, bytes);
        let file = json!({
            "base64": &*media.data, "type": kind, "originalSize": bytes.len(),
            "dimensions": {"originalWidth": 30, "originalHeight": 20,
                "displayWidth": 30, "displayHeight": 20},
        });
        assert_eq!(structured(&outcome), json!({"type": "image", "file": file}));
    }
}

#[tokio::test]
async fn large_images_come_smaller_with_a_note() {
    let project = TestProject::new();
    let bytes = packed(smooth(4000, 40), ImageFormat::Png);
    let outcome = project.read(&project.write("wide.png", &bytes)).await;
    let [ToolResultPart::Text(note), ToolResultPart::Media(media)] = outcome.content.as_slice()
    else {
        panic!("{outcome:?}");
    };
    assert!(!outcome.is_error);
    assert_eq!(note, "[wide.png: 4000×40 made 2000×20]");
    let data = base64::prelude::BASE64_STANDARD.decode(&*media.data).unwrap();
    let picture = image::load_from_memory(&data).unwrap();
    assert_eq!((picture.width(), picture.height()), (2000, 20));
    let file = json!({
        "base64": &*media.data, "type": "image/png", "originalSize": bytes.len(),
        "dimensions": {"originalWidth": 4000, "originalHeight": 40,
            "displayWidth": 2000, "displayHeight": 20},
    });
    assert_eq!(structured(&outcome), json!({"type": "image", "file": file}));
}

#[tokio::test]
async fn broken_images_and_huge_files_are_refused() {
    let project = TestProject::new();
    for (format, kind) in FORMATS {
        let bytes = packed(smooth(30, 20), format);
        let outcome = project.read(&project.write("broken", &bytes[..20])).await;
        assert!(outcome.is_error, "{kind}");
        assert!(text(&outcome).contains("/broken` cannot be shown. broken: it is "), "{kind}");
    }
    let path = project.write("big.png", b"\x89PNG\r\n\x1a\n");
    File::options().write(true).open(&path).unwrap().set_len(40_000_000).unwrap();
    let outcome = project.read(&path).await;
    assert!(outcome.is_error && text(&outcome).contains("Make a smaller copy"));
}

const FORMATS: [(ImageFormat, &str); 4] = [
    (ImageFormat::Png, "image/png"),
    (ImageFormat::Jpeg, "image/jpeg"),
    (ImageFormat::Gif, "image/gif"),
    (ImageFormat::WebP, "image/webp"),
];
