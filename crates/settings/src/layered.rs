//! One layer as it was found: its text, what of it fits the types, and what is wrong with it.

use std::path::PathBuf;

use serde_json::{Map, Value};
use windlass_permission::Rule;
use windlass_permission::layer::Source;

use crate::file::{self, BYTES_MAX};
use crate::loaded::State;
use crate::place::{Candidate, Given};
use crate::problem::{Place, Problem, Severity};
use crate::prune::{self, Cut};
use crate::text::{Kind, Node, line_and_column};
use crate::watch::{Held, Stamp};

/// A layer.
#[derive(Clone, Debug)]
pub(crate) struct Layered {
    pub(crate) source: Source,
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    /// Empty when it is broken, which is no JSON either.
    pub(crate) text: String,
    node: Option<Node>,
    /// What of it fits the types.
    pub(crate) settings: Map<String, Value>,
    pub(crate) state: State,
    /// May everybody write to it? Then it may forbid, and nothing else.
    pub(crate) is_everybodys: bool,
    pub(crate) problems: Vec<Problem>,
    /// What the file was like before it was read.
    pub(crate) stamp: Option<Stamp>,
}

impl Layered {
    /// Reads it, or takes it to say what is held.
    pub(crate) fn read(candidate: Candidate, held: &Held) -> Self {
        let Candidate { source, given, name, root } = candidate;
        let (is_everybodys, stamp, held) = match &given {
            Given::File(path) => (file::is_everybodys(path), Stamp::of(path), held.get(path)),
            Given::Text(_) => (false, None, None),
        };
        let text = match given {
            Given::Text(text) => {
                let is_long = u64::try_from(text.len()).is_ok_and(|length| length > BYTES_MAX);
                if is_long { Err("it is over 2 MiB".to_owned()) } else { Ok(Some(text)) }
            }
            Given::File(_) if held.is_some() => Ok(held.cloned().flatten()),
            Given::File(path) => match file::read(&path) {
                // A file that was named must be there.
                Ok(None) if source == Source::Flag => Err("there is no such file".to_owned()),
                other => other,
            },
        };
        let mut layer = Self {
            source,
            name,
            root,
            text: String::new(),
            node: None,
            settings: Map::new(),
            state: State::Absent,
            is_everybodys,
            problems: Vec::new(),
            stamp,
        };
        match text {
            Ok(None) => {}
            Ok(Some(text)) => layer.take(text),
            Err(why) => layer.broken(None, &why),
        }
        // A project's files are not believed anyway, and one that was named is meant.
        if is_everybodys && matches!(source, Source::User | Source::Managed) {
            let what = "everybody on this machine may write to it, so it may only forbid; take that \
                        right away: chmod o-w";
            layer.tell(None, what.to_owned(), Severity::Entry);
        }
        layer
    }

    fn take(&mut self, text: String) {
        let settings = match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(settings)) => settings,
            Ok(_) => return self.broken(Some((1, 1)), "settings must be a JSON object"),
            Err(error) => {
                let place = (error.line(), error.column().max(1));
                // Its own words repeat the place.
                let words = error.to_string();
                let words = words.split(" at line ").next().unwrap_or_default();
                return self.broken(Some(place), &format!("not JSON: {words}"));
            }
        };
        let Some(node) = Node::of(&text) else {
            return self.broken(None, "it cannot be read");
        };
        if let Some((key, at)) = node.twice() {
            let what = format!("the key `{key}` is written twice");
            return self.broken(Some(line_and_column(&text, at)), &what);
        }
        let (settings, cuts) = prune::prune(&settings);
        (self.text, self.node, self.settings) = (text, Some(node), settings);
        self.state = State::Read;
        for Cut { pointer, what, severity } in cuts {
            // What does not fit among the rules is told where rules are read.
            let is_rule = pointer.starts_with("/permissions") && severity == Severity::Entry;
            if !is_rule {
                self.problem(&pointer, what, severity);
            }
        }
        self.idle_rules();
        self.problems.sort_by_key(|problem| problem.place.map(|place| (place.line, place.column)));
    }

    /// Allow rules that would never allow anything.
    fn idle_rules(&mut self) {
        let allow = self.settings.get("permissions").and_then(|all| all.get("allow"));
        let rules = allow.and_then(Value::as_array).cloned().unwrap_or_default();
        for (index, rule) in rules.iter().enumerate() {
            let rule = rule.as_str().and_then(|rule| Rule::parse(rule).ok());
            if let Some((rule, why)) =
                rule.and_then(|rule| Some((rule.to_string(), rule.idle_as_allow()?)))
            {
                let what = format!("`{rule}` never allows anything: {why}");
                self.problem(&format!("/permissions/allow/{index}"), what, Severity::Idle);
            }
        }
    }

    /// Tells a problem at what a pointer names.
    pub(crate) fn problem(&mut self, pointer: &str, what: String, severity: Severity) {
        let place = self.node.as_ref().map(|node| line_and_column(&self.text, node.find(pointer)));
        self.tell(place, what, severity);
    }

    /// The lines of the rules in a list, of those that are rules.
    pub(crate) fn rule_lines(&self, list: &str) -> Vec<usize> {
        let permissions = self.node.as_ref().and_then(|node| node.member("permissions"));
        let list = permissions.and_then(|member| member.value.member(list));
        let Some(Kind::Array(items)) = list.map(|member| &member.value.kind) else {
            return Vec::new();
        };
        let (mut line, mut seen, mut lines) = (1, 0, Vec::new());
        for item in items {
            let between = self.text.get(seen..item.span.start).unwrap_or_default();
            (line, seen) = (line + between.matches('\n').count(), item.span.start);
            let text = self.text.get(item.span.clone()).unwrap_or_default();
            if serde_json::from_str::<String>(text).is_ok_and(|rule| Rule::parse(&rule).is_ok()) {
                lines.push(line);
            }
        }
        lines
    }

    fn broken(&mut self, place: Option<(usize, usize)>, why: &str) {
        self.state = State::Broken;
        let what =
            format!("{why}; until it is mended, everything asks, for what it forbids is lost");
        self.tell(place, what, Severity::File);
    }

    fn tell(&mut self, place: Option<(usize, usize)>, what: String, severity: Severity) {
        let (source, name) = (Some(self.source), self.name.clone());
        self.problems.push(Problem { source, name, place: place.map(Place::from), what, severity });
    }
}
