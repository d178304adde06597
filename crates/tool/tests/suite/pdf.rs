//! PDF documents: made here by hand in the ways programs make them, then broken in every way.

use std::time::{Duration, Instant};

use miniz_oxide::deflate::compress_to_vec_zlib;
use proptest::prelude::*;
use serde_json::json;

use crate::test_project::{TestProject, structured, text};

/// How a document is packed.
#[derive(Clone, Copy, PartialEq)]
enum Packing {
    Plain,
    Compressed,
    /// Everything but streams is packed into one.
    Objects,
}

/// A document of so many pages, each with a line in a plain font and one in a font of its own.
fn document(pages: usize, packing: Packing) -> Vec<u8> {
    let table = "/CIDInit /ProcSet findresource begin 2 beginbfchar <0001> <004F> <0002> <0308> \
                 endbfchar 1 beginbfrange <0010> <0012> <03B1> endbfrange end";
    let kids: Vec<String> = (0..pages).map(|page| format!("{} 0 R", 10 + page * 2)).collect();
    let mut objects = vec![
        (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
        (
            2,
            format!(
                "<< /Type /Pages /Kids [{}] /Count {pages} /Resources << /Font << /F1 3 0 R /F2 \
                 4 0 R >> >> >>",
                kids.join(" ")
            ),
        ),
        (
            3,
            "<< /Type /Font /Subtype /Type1 /Encoding << /Differences [1 /fi /adieresis /uni20AC] \
             >> >>"
                .to_owned(),
        ),
        (4, "<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 5 0 R >>".to_owned()),
    ];
    let mut streams = vec![(5, String::new(), table.as_bytes().to_vec())];
    for page in 0..pages {
        let content = format!(
            "BT /F1 12 Tf 72 700 Td (Page \\({}\\) \\001rst \\002\\003) Tj 0 -14 Td [(sp) -300 \
             (aced) 20 (out)] TJ /F2 12 Tf T* <000100100011 0012> Tj ET",
            page + 1
        );
        let (id, stream) = (10 + page * 2, 11 + page * 2);
        objects.push((id, format!("<< /Type /Page /Parent 2 0 R /Contents {stream} 0 R >>")));
        streams.push((stream, String::new(), content.into_bytes()));
    }
    if packing != Packing::Plain {
        for (_, head, content) in &mut streams {
            *head = "/Filter /FlateDecode".to_owned();
            *content = compress_to_vec_zlib(content, 6);
        }
    }
    if packing == Packing::Objects {
        let (mut places, mut bodies) = (String::new(), String::new());
        for (id, body) in objects.drain(..) {
            places.push_str(&format!("{id} {} ", bodies.len()));
            bodies.push_str(&body);
            bodies.push(' ');
        }
        let count = places.split_whitespace().count() / 2;
        let head = format!("/Type /ObjStm /N {count} /First {} /Filter /FlateDecode", places.len());
        let content = compress_to_vec_zlib(format!("{places}{bodies}").as_bytes(), 6);
        streams.push((9_000, head, content));
    }
    let mut file = b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n".to_vec();
    for (id, body) in objects {
        file.extend(format!("{id} 0 obj\n{body}\nendobj\n").into_bytes());
    }
    for (id, head, content) in streams {
        let start = format!("{id} 0 obj\n<< {head} /Length {} >>\nstream\n", content.len());
        file.extend(start.into_bytes());
        file.extend(content);
        file.extend(b"\nendstream\nendobj\n");
    }
    file.extend(b"trailer << /Root 1 0 R >>\n%%EOF\n");
    file
}

#[tokio::test]
async fn text_is_shown_by_page_however_it_is_packed() {
    let project = TestProject::new();
    for packing in [Packing::Plain, Packing::Compressed, Packing::Objects] {
        let path = project.write("a.pdf", document(12, packing));
        let outcome = project.call("Read", json!({"file_path": path, "pages": "3-4"})).await;
        let page =
            |number| format!("[Page {number} of 12]\nPage ({number}) first ä€\nsp acedout\nOαβγ\n");
        let expected =
            format!("{}{}[12 pages in all; the next is pages \"5-\"]\n", page(3), page(4));
        assert_eq!(text(&outcome), expected);
        assert_eq!(structured(&outcome)["file"]["totalPages"], 12);
        let outcome = project.call("Read", json!({"file_path": path, "pages": "12"})).await;
        assert_eq!(text(&outcome), page(12));
        assert!(text(&project.read(&path).await).contains("the next is pages \"11-\""));
    }
}

#[tokio::test]
async fn what_cannot_be_shown_says_why() {
    let project = TestProject::new();
    let whole = document(1, Packing::Plain);
    let encrypted = String::from_utf8_lossy(&whole).replace("/Root", "/Encrypt 7 0 R /Root");
    let cases = [
        ("a.pdf", encrypted.into_bytes(), json!({}), "it is encrypted"),
        ("b.pdf", b"%PDF-1.7\n".to_vec(), json!({}), "no pages were found"),
        ("c.pdf", whole, json!({"pages": "2"}), "has 1 pages; there is no page 2"),
    ];
    for (name, content, mut input, why) in cases {
        input["file_path"] = json!(project.write(name, content));
        let outcome = project.call("Read", input).await;
        assert!(outcome.is_error && text(&outcome).contains(why), "{}", text(&outcome));
    }
    for (pages, why) in [
        ("x", "expected pages like"),
        ("0", "expected pages like"),
        ("5-2", "comes before"),
        ("1-21", "more than 20 pages"),
    ] {
        let input = json!({"file_path": "/a.pdf", "pages": pages});
        let problem = project.inspect("Read", &input).problem.unwrap();
        assert!(problem.contains("field `pages`") && problem.contains(why), "{problem}");
    }
}

#[tokio::test]
async fn hostile_documents_are_read_in_bounded_time() {
    let project = TestProject::new();
    let loops = "%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages \
                 /Kids [2 0 R 3 0 R 3 0 R] >> endobj\n3 0 obj << /Type /Page /Contents 3 0 R >> endobj\n\
                 4 0 obj 4 0 R endobj\n";
    let deep = format!("%PDF-1.7\n1 0 obj {}", "[<<".repeat(500_000));
    let bomb = compress_to_vec_zlib(&vec![b' '; 64 * 1024 * 1024], 6);
    let mut packed = b"%PDF-1.7\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Kids [3 \
                       0 R] >> endobj\n3 0 obj << /Type /Page /Contents 4 0 R >> endobj\n4 0 obj << \
                       /Filter /FlateDecode >> stream\n"
        .to_vec();
    packed.extend(bomb);
    packed.extend(b"\nendstream endobj");
    for content in [loops.as_bytes().to_vec(), deep.into_bytes(), packed] {
        let path = project.write("a.pdf", content);
        let began = Instant::now();
        project.read(&path).await;
        assert!(began.elapsed() < Duration::from_secs(240), "{:?}", began.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// Whatever is changed in a document, reading it ends, and never in a panic.
    #[test]
    fn a_broken_document_breaks_nothing(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
        packing in prop::sample::select(vec![Packing::Plain, Packing::Compressed, Packing::Objects]),
    ) {
        let mut content = document(2, packing);
        for (place, byte) in changes {
            let at = place.index(content.len() - 8) + 8;
            content[at] = byte;
        }
        content.truncate(8 + cut.index(content.len() * 2).min(content.len()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let project = TestProject::new();
            project.read(&project.write("a.pdf", &content)).await;
        });
    }
}

impl std::fmt::Debug for Packing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Compressed => "compressed",
            Self::Objects => "objects",
        })
    }
}
