//! A list to choose from: numbers, letters and arrows.

use windlass_tui::input::{CursorMove, Deletion, InputKey};
use windlass_tui::picker::{Picker, PickerItem, PickerOutcome};
use windlass_tui::styled_line::StyledLine;

fn picker() -> Picker {
    let names = ["mend the leap years", "add a test", "write it down"];
    let item = |name: &&str| PickerItem {
        value: name.to_string(),
        label: name.to_string(),
        description: String::new(),
    };
    Picker::new("Which?", names.iter().map(item).collect())
}

fn press_keys(picker: &mut Picker, keys: &[InputKey]) -> PickerOutcome {
    let mut picked = PickerOutcome::Pending;
    for key in keys {
        picked = picker.handle_key(key);
    }
    picked
}

fn value(picked: PickerOutcome) -> String {
    match picked {
        PickerOutcome::Chosen(item) => item.value,
        PickerOutcome::Pending => "pending".to_owned(),
        PickerOutcome::Cancelled => "cancelled".to_owned(),
    }
}

#[test]
fn a_short_list_has_no_search_line_until_something_is_typed() {
    let text = |picker: &Picker| -> String {
        picker.render(40, 12).iter().map(|line| line.plain_text() + "\n").collect()
    };
    let mut short = picker();
    assert!(!text(&short).contains("earch"), "{}", text(&short));
    assert!(!text(&short).contains("3 of 3"), "{}", text(&short));
    short.handle_key(&InputKey::Char('a'));
    assert!(text(&short).contains("Search: a▏"), "{}", text(&short));
    let item = |number| PickerItem { label: format!("{number}"), ..PickerItem::default() };
    let long = Picker::new("Which?", (0..7).map(item).collect());
    assert!(text(&long).contains("type to search"), "{}", text(&long));
    assert!(text(&long).contains("7 of 7"), "{}", text(&long));
}

#[test]
fn numbers_choose_in_a_short_list_and_notes_stand_in_a_column() {
    let item = |label: &str| PickerItem {
        value: label.to_owned(),
        label: label.to_owned(),
        description: "a note".to_owned(),
    };
    let mut short = Picker::new("Which?", ["one", "another one"].map(item).to_vec());
    let shown: Vec<String> = short.render(40, 9).iter().map(StyledLine::plain_text).collect();
    assert_eq!(shown[1..3], ["› 1. one          a note", "  2. another one  a note"]);
    assert_eq!(value(short.handle_key(&InputKey::Char('9'))), "pending");
    assert_eq!(value(short.handle_key(&InputKey::Char('2'))), "another one");
    let fixed = PickerItem { value: String::new(), ..item("fixed") };
    let mixed = Picker::new("Which?", vec![fixed.clone(), item("free")]).render(40, 9);
    let mixed: Vec<String> = mixed.iter().map(StyledLine::plain_text).collect();
    assert_eq!(mixed[1..3], ["›    fixed  a note", "  2. free   a note"]);
    let none = Picker::new("Which?", vec![fixed]).render(40, 9);
    assert_eq!(none[1].plain_text(), "› fixed  a note");
    let many = (0..9).map(|number| item(&format!("item {number}"))).collect();
    assert_eq!(value(Picker::new("Which?", many).handle_key(&InputKey::Char('2'))), "pending");
    let wide = Picker::new("Which?", vec![item(&"word ".repeat(30))]);
    assert!(wide.render(200, 9)[1].width() > 150, "the whole width is used");
}

/// Two models whose names begin alike are two rows on a narrow screen, too.
#[test]
fn names_are_whole_on_a_narrow_screen() {
    let item = |label: &str| PickerItem {
        value: label.to_owned(),
        label: label.to_owned(),
        description: "1,000,000 tokens · $10.00 in, $50.00 out".to_owned(),
    };
    let names = ["anthropic/claude-fable-5", "anthropic/claude-fable-5-1", "anthropic/claude-opus"];
    let shown = Picker::new("Which?", names.map(item).to_vec()).render(40, 12);
    let shown: Vec<String> = shown.iter().map(StyledLine::plain_text).collect();
    for name in names {
        assert!(shown[1..4].iter().any(|row| row.contains(&format!("{name} "))), "{shown:?}");
    }
}

#[test]
fn letters_search_and_arrows_choose() {
    let down = InputKey::Move(CursorMove::Down);
    let taken = press_keys(&mut picker(), &[down.clone(), down.clone(), down, InputKey::Enter]);
    assert_eq!(value(taken), "write it down");
    let taken = press_keys(
        &mut picker(),
        &[InputKey::Char('t'), InputKey::Char('e'), InputKey::Char('s'), InputKey::Enter],
    );
    assert_eq!(value(taken), "add a test");
    let none = press_keys(&mut picker(), &[InputKey::Char('#'), InputKey::Enter]);
    assert_eq!(none, PickerOutcome::Pending);
    let back = press_keys(
        &mut picker(),
        &[InputKey::Char('#'), InputKey::Delete(Deletion::CharBefore), InputKey::Enter],
    );
    assert_eq!(value(back), "mend the leap years");
    let long = PickerItem {
        label: "a rule".to_owned(),
        description: "word ".repeat(9),
        ..PickerItem::default()
    };
    let shown = Picker::new("Which?", vec![long.clone()]).render(30, 9);
    let words: String = shown.iter().map(StyledLine::plain_text).collect();
    assert!(words.matches("word").count() > 9, "all of it is said below: {words}");
    let shown = Picker::new("Which?", vec![long]).render(80, 9);
    assert_eq!(shown.len(), 3);
    for rows in 1..9 {
        assert!(picker().render(30, rows).iter().all(|line| line.width() <= 30));
    }
}
