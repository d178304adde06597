//! From the grammar's tree to the commands of a line, taking only what is known.
//!
//! The walk visits the tree once. A kind of node it does not know, a gap that is not blank, a word
//! with a letter the shell would treat specially: each is a doubt, and a line with a doubt is never
//! allowed by itself. What can be found in a doubtful line is still found, for deny rules.

mod arithmetic;
mod command;
mod condition;
mod declaration;
mod expansion;
mod gap;
mod known;
mod letters;
mod names;
mod redirect;
mod statement;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use tree_sitter::Node;

use super::grammar::parse;
use super::script::{Doubt, Places, Script};
use super::wrapper;
use crate::world::World;
use names::Names;

/// Tree levels followed; deeper ones are a doubt.
const DEPTH_MAX: usize = 120;

/// Shells within shells followed.
pub(super) const NESTED_MAX: u8 = 8;

/// Doubts kept; the first says enough.
const DOUBTS_MAX: usize = 8;

/// Parts kept; a line with more is not understood.
const PARTS_MAX: usize = 50_000;

/// What a line is read against.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    /// Where the shell stands.
    pub(crate) cwd: Option<&'a Path>,
    /// What lies where.
    pub(crate) world: &'a dyn World,
    /// How deep in the trees of other lines this one is found.
    pub(crate) depth: usize,
}

/// Takes a line apart.
pub(crate) fn read(text: &str, scene: Scene<'_>) -> Script {
    let places = scene.cwd.map_or(Places::Unknown, |cwd| Places::one(cwd.to_path_buf()));
    let mut script = Script::default();
    read_at(text, scene, places, 0, &mut script);
    if text.contains('\0') {
        doubt(&mut script, "a letter no command can hold", text);
    }
    script
}

/// The same for text inside a line, whose shell stands elsewhere.
pub(super) fn read_at(
    text: &str,
    scene: Scene<'_>,
    places: Places,
    nested: u8,
    script: &mut Script,
) {
    let Some(tree) = parse(text).filter(|_| nested <= NESTED_MAX) else {
        doubt(script, "too long or too deep to take apart", text);
        script.has_hidden = true;
        return;
    };
    let root = tree.root_node();
    let from = script.parts.len();
    let mut walk = Walk {
        text,
        scene,
        nested,
        depth: scene.depth,
        names: Names::collect(root, text),
        functions: BTreeSet::new(),
        documents: Vec::new(),
        substitutions: 0,
        standing: Places::Unknown,
        has_moved: false,
        bodies: Vec::new(),
        script,
    };
    walk.gaps(root);
    walk.statement(root, places);
    if walk.has_moved {
        for body in std::mem::take(&mut walk.bodies) {
            walk.displace(body);
        }
    }
    let documents = std::mem::take(&mut walk.documents);
    wrapper::feed_shells(from, &documents, scene, nested, script);
}

fn doubt(script: &mut Script, why: &'static str, text: &str) {
    if script.doubts.len() < DOUBTS_MAX {
        let text = text.chars().take(60).collect();
        script.doubts.push(Doubt { why, text });
    }
}

struct Walk<'t, 's> {
    text: &'t str,
    scene: Scene<'t>,
    nested: u8,
    depth: usize,
    names: Names,
    /// Functions that are certain to be defined by now.
    functions: BTreeSet<String>,
    /// Texts given to commands as input.
    documents: Vec<String>,
    /// Substitutions around what is being read.
    substitutions: usize,
    /// Where the statement being read stands.
    standing: Places,
    /// Something in what was read may have moved the shell.
    has_moved: bool,
    /// The parts of functions, which run wherever they are called.
    bodies: Vec<Range<usize>>,
    script: &'s mut Script,
}

impl<'t> Walk<'t, '_> {
    fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn doubt(&mut self, why: &'static str, node: Node<'_>) {
        let text = self.source(node);
        doubt(self.script, why, text);
    }

    /// Where these parts stand cannot be told.
    fn displace(&mut self, parts: Range<usize>) {
        let parts = self.script.parts.get_mut(parts).unwrap_or_default();
        parts.iter_mut().for_each(|part| part.places = Places::Unknown);
    }

    /// Goes one level down, if that is not too deep.
    fn deeper<T>(&mut self, node: Node<'_>, go: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= DEPTH_MAX || self.script.parts.len() >= PARTS_MAX {
            self.doubt("nested too deep", node);
            self.script.has_hidden = true;
            return None;
        }
        self.depth += 1;
        let result = go(self);
        self.depth -= 1;
        Some(result)
    }
}

fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.children(&mut node.walk()).collect()
}

fn named<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.named_children(&mut node.walk()).filter(|child| child.kind() != "comment").collect()
}
