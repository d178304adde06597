//! Shell text from a grammar, with a liking for what parsers get wrong.
//!
//! Programs are stubs `p1` to `p4`, which succeed, and `no`, which fails. Files and directories are
//! relative and few. Loops end, functions do not call each other.

use crate::random::Random;

pub(crate) struct Writer<'c> {
    random: &'c mut Random,
    room: usize,
    marks: usize,
    /// Bodies of documents that wait for the end of their line.
    waiting: Vec<String>,
}

const PROGRAMS: &[&str] = &["p1", "p2", "p3", "p4"];

impl<'c> Writer<'c> {
    pub(crate) fn new(random: &'c mut Random) -> Self {
        let room = 3 + random.below(14);
        Self { random, room, marks: 0, waiting: Vec::new() }
    }

    pub(crate) fn script(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..=self.random.below(3) {
            let line = self.list();
            text.push_str(&line);
            if self.random.once_in(9) {
                text.push_str(" # p1; $(p2) '");
                text.push('\n');
            } else {
                text.push('\n');
            }
            for body in std::mem::take(&mut self.waiting) {
                text.push_str(&body);
            }
        }
        text
    }

    fn spend(&mut self) -> bool {
        self.room = self.room.saturating_sub(1);
        self.room > 0
    }

    fn list(&mut self) -> String {
        let mut text = self.pipeline();
        while self.spend() && self.random.once_in(2) {
            let operator =
                self.random.pick(&["; ", " && ", " || ", ";", "&&", " & ", " ||\n", " &&  "]);
            if operator.contains('\n') && !self.waiting.is_empty() {
                continue;
            }
            text.push_str(operator);
            text.push_str(&self.pipeline());
        }
        text
    }

    fn pipeline(&mut self) -> String {
        let mut text = String::new();
        if self.random.once_in(12) {
            text.push_str(self.random.pick(&["! ", "time ", "time -p "]));
        }
        text.push_str(&self.command());
        while self.spend() && self.random.once_in(4) {
            text.push_str(self.random.pick(&[" | ", "|", " |& "]));
            text.push_str(&self.command());
        }
        text
    }

    fn command(&mut self) -> String {
        if !self.spend() {
            return self.simple();
        }
        match self.random.below(26) {
            0 => format!("({})", self.inner()),
            1 => format!("{{ {}; }}", self.inner()),
            2 => format!("if {}; then {}; fi", self.inner(), self.inner()),
            3 => format!("if {}; then {}; else {}; fi", self.inner(), self.inner(), self.inner()),
            4 => format!("for v in {}; do {}; done", self.words(), self.inner()),
            5 => format!("while no; do {}; done", self.inner()),
            6 => format!("until p1; do {}; done", self.inner()),
            7 => format!(
                "case {} in {}) {};; *) {} ;; esac",
                self.word(),
                self.pattern(),
                self.inner(),
                self.inner()
            ),
            8 => {
                let name = format!("f{}", self.random.below(3));
                format!("{name}() {{ {}; }}; {name} {}", self.inner(), self.words())
            }
            9 => format!(
                "[ {} {} {} ]",
                self.word(),
                self.random.pick(&["=", "!=", "-o", "-a"]),
                self.word()
            ),
            10 => format!(
                "[[ {} {} {} ]]",
                self.word(),
                self.random.pick(&["==", "!=", "<", ">", "&&", "||", "=~"]),
                self.word()
            ),
            11 => {
                format!("[[ -{} {} ]]", self.random.pick(&["f", "d", "n", "z", "e"]), self.word())
            }
            12 => format!("{}={}", self.random.pick(&["x", "y", "z"]), self.word()),
            13 => format!("x=({})", self.words()),
            14 => format!(
                "cd {}",
                self.random.pick(&["a", "b", "a/..", ".", "\"a\"", "missing", "\"$x\""])
            ),
            15 => format!("(( {} ))", self.random.pick(&["1 + 2", "i = 3", "i++", "x"])),
            16 => format!("export y={}", self.word()),
            17 => format!("for ((i=0; i<2; i++)); do {}; done", self.inner()),
            18 => format!("{{ {}; }} {}", self.inner(), self.redirect()),
            _ => self.simple(),
        }
    }

    /// Commands within other commands. A document in there ends inside of it as well.
    fn inner(&mut self) -> String {
        let outer = std::mem::take(&mut self.waiting);
        let mut text = self.list();
        if !self.waiting.is_empty() {
            text.push('\n');
            for body in std::mem::take(&mut self.waiting) {
                text.push_str(&body);
            }
            text.push_str("p1");
        }
        self.waiting = outer;
        text
    }

    fn simple(&mut self) -> String {
        let mut text = String::new();
        if self.random.once_in(8) {
            text.push_str(&format!("{}={} ", self.random.pick(&["x", "LANG", "y"]), self.word()));
        }
        if self.random.once_in(14) {
            text.push_str(&self.redirect());
            text.push(' ');
        }
        text.push_str(&self.name());
        for _ in 0..self.random.below(4) {
            text.push_str(self.random.pick(&[" ", " ", "  ", "\t", " \\\n"]));
            text.push_str(&self.word());
        }
        if self.random.once_in(5) {
            text.push(' ');
            text.push_str(&self.redirect());
            if self.random.once_in(3) {
                text.push(' ');
                text.push_str(&self.word());
            }
        }
        if self.random.once_in(10) {
            text.push_str(&self.document());
        }
        text
    }

    fn name(&mut self) -> String {
        let name = self.random.pick(PROGRAMS);
        match self.random.below(16) {
            0 => format!("\"{name}\""),
            1 => format!("'{name}'"),
            2 => format!("\\{name}"),
            3 => format!("p''{}", &name[1..]),
            4 => format!("$'{name}'"),
            5 => format!("$'\\x70{}'", &name[1..]),
            6 => "echo".to_owned(),
            7 => "no".to_owned(),
            8 => format!("{{{name},x}}"),
            9 => format!("p{}", &name[1..]),
            _ => name.to_owned(),
        }
    }

    fn words(&mut self) -> String {
        let words: Vec<String> = (0..1 + self.random.below(3)).map(|_| self.word()).collect();
        words.join(" ")
    }

    fn word(&mut self) -> String {
        let mut word = self.piece();
        while self.random.once_in(4) {
            word.push_str(&self.piece());
        }
        word
    }

    fn piece(&mut self) -> String {
        if self.spend() {
            match self.random.below(24) {
                0 => return format!("$({})", self.inner()),
                1 => return format!("\"$({})\"", self.inner()),
                2 => return format!("`{}`", self.random.pick(PROGRAMS)),
                3 => return format!("\"`{} x`\"", self.random.pick(PROGRAMS)),
                4 => return format!("<({})", self.inner()),
                5 => return format!("${{u:-{}}}", self.plain()),
                6 => return format!("${{u:-$({})}}", self.random.pick(PROGRAMS)),
                7 => return format!("\"${{u:-$({} y)}}\"", self.random.pick(PROGRAMS)),
                8 => return format!("\"a {} b\"", self.plain()),
                9 => return format!("$((1 + $({})))", self.random.pick(PROGRAMS)),
                _ => {}
            }
        }
        self.plain()
    }

    fn plain(&mut self) -> String {
        let odd = [
            "a", "b c", "x;y", "p1", "-n", "#", "a#b", "$x", "\"$x\"", "'$(p4)'", "'a b'",
            "\"a;b\"", "\\;", "\\$x", "\\\"", "\\'", "$'a\\'b'", "''", "\"\"", "{a,b}", "{1..3}",
            "~", "*", "?", "[a]", "=", "a=b", "!", "$", "\"$\"", "%", "^", ",", "@", "a\\\nb",
            "'#'", "\"#\"", "$?", "$#", "${#x}", "${x}", "\"${x}\"", "${x%a}", "${x/a/b}", "2",
            "-", "--", "\\\\", "é", "\"'\"", "'\"'", "\"\\\"\"", "}", "{", "done", "fi", "]]",
            "then",
        ];
        let piece = self.random.pick(&odd);
        if piece == "b c" { "bc".to_owned() } else { piece.to_owned() }
    }

    fn pattern(&mut self) -> &'static str {
        self.random.pick(&["a", "a|b", "*", "\"a\"", "[a-z]", "(a", "a*)#"]).trim_end_matches(")#")
    }

    fn redirect(&mut self) -> String {
        let operator = self.random.pick(&[">", ">>", "2>", "&>", ">|", "<", "2>&1 >", "> "]);
        let target =
            self.random.pick(&["f1", "f2", "\"f3\"", "'f4'", "f\\5", "a/f6", "f''7", "$x"]);
        let extra = if self.random.once_in(6) { " 2>&1" } else { "" };
        format!("{operator}{target}{extra}")
    }

    fn document(&mut self) -> String {
        self.marks += 1;
        let mark = format!("E{}", self.marks);
        let (start, is_plain) = match self.random.below(5) {
            0 => (format!("<<'{mark}'"), true),
            1 => (format!("<<\"{mark}\""), true),
            2 => (format!("<<\\{mark}"), true),
            3 => (format!("<<-{mark}"), false),
            _ => (format!("<<{mark}"), false),
        };
        let inside = self
            .random
            .pick(&["plain", "$(p4 d)", "`p3 d`", "$x ${x}", "'$(p2)'", "\\$(p1)", "E", "# p1"]);
        let tab = if start.contains("<<-") { "\t" } else { "" };
        let _ = is_plain;
        self.waiting.push(format!("{tab}{inside}\n{tab}{mark}\n"));
        format!(" {start}")
    }
}

/// Tokens thrown together, most of which bash refuses; what it does not refuse must be judged.
pub(crate) fn soup(random: &mut Random) -> String {
    let tokens: Vec<&str> = TOKENS.split('·').collect();
    let mut text = String::new();
    for _ in 0..2 + random.below(10) {
        text.push_str(random.pick(&tokens));
        if random.once_in(3) {
            text.push(' ');
        }
    }
    // No functions: nothing here may call itself.
    text.replace("()", "").replace("( )", "")
}

const TOKENS: &str = "p1·p2·p3 x·no·echo·;·&&·||·|·&·\n·$(·)·(·{ ·}·; }·\"·'·`·\\·#· # ·$x·x=1·x=·if ·; then ·\
; fi·for v in ·; do ·; done·while no·case a in ·a) ·;;·esac·[[ · ]]·[ · ]·((·))·$((·>f1·<<E·\nE\n·<<<·<(·${x·\
:-·}·!·time ·=·-eq· · · ·$'·\\\n·a·*·{a,b}·2>&1·>·f2·&>·|&·~·\t·\r·]·[";
