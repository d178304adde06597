//! Which variables may be set before an allowed command, and which alone.

use super::parsed_script::VariableAssignment;
use super::shell_word::ShellWord;

/// Does this word set a variable if it comes before a command?
pub(crate) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    is_variable_name(name)
}

pub(crate) fn is_variable_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// May it be set before a command without changing what the command does?
pub(crate) fn is_harmless_variable(name: &str) -> bool {
    name.starts_with("LC_") || HARMLESS.contains(&name)
}

/// The same with its value: a locale, time zone or terminal that contains a path is read from
/// there.
pub(crate) fn is_harmless_assignment(name: &str, value: &str) -> bool {
    let is_zone = name == "TZ" && !value.starts_with(['/', ':']) && !value.contains("..");
    is_harmless_variable(name) && (is_zone || !value.contains('/'))
}

/// May it be set to an unknown value for the rest of the line? Not if programs or the shell use it;
/// a shell variable that is not exported is invisible to programs.
pub(crate) fn is_line_local_variable(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_looked_at = INFLUENTIAL.contains(&upper.as_str())
        || INFLUENTIAL_STARTS.iter().any(|start| upper.starts_with(start))
        || INFLUENTIAL_ENDS.iter().any(|end| upper.ends_with(end));
    is_variable_name(name) && !is_harmless_variable(name) && !is_looked_at
}

/// The same for this value. If the variable is in the environment its new value is exported, and
/// the shell reads the files of a locale: so such a value must be harmless.
pub(super) fn is_line_local_assignment(assign: &VariableAssignment) -> bool {
    if !is_harmless_variable(&assign.name) {
        return is_line_local_variable(&assign.name);
    }
    let value = assign.value.as_ref().and_then(ShellWord::as_certain);
    let is_harmless = |value: &str| is_harmless_assignment(&assign.name, value);
    is_variable_name(&assign.name) && (!assign.text.contains('=') || value.is_some_and(is_harmless))
}

const HARMLESS: &[&str] = &[
    "LANG",
    "TZ",
    "NO_COLOR",
    "CLICOLOR",
    "FORCE_COLOR",
    "TERM",
    "COLUMNS",
    "LINES",
    "CI",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "NODE_ENV",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
];

const INFLUENTIAL: &[&str] = &[
    "PATH",
    "IFS",
    "ENV",
    "SHELL",
    "SHELLOPTS",
    "HOME",
    "PWD",
    "OLDPWD",
    "CDPATH",
    "GLOBIGNORE",
    "GLOBSORT",
    "FIGNORE",
    "FUNCNEST",
    "EXECIGNORE",
    "HOSTFILE",
    "INPUTRC",
    "MAILPATH",
    "MAILCHECK",
    "TMOUT",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "AS",
    "GZIP",
    "BZIP2",
    "ZIPOPT",
    "UNZIP",
    "TMPDIR",
    "TMP",
    "TEMP",
    "DISPLAY",
    "WGETRC",
    "TAPE",
    "USER",
    "LOGNAME",
    "CLASSPATH",
    "MANPATH",
    "PRINTER",
    "TERMINFO",
    "TERMCAP",
    "NLSPATH",
    "LOCPATH",
    "POSIXLY_CORRECT",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "DIRSTACK",
    "GROUPS",
    "FUNCNAME",
    "MAPFILE",
    "COPROC",
    "PIPESTATUS",
    "UID",
    "EUID",
    "PPID",
    "SHLVL",
    "IGNOREEOF",
    "TIMEFORMAT",
    "HOSTNAME",
    "HOSTTYPE",
    "MACHTYPE",
    "OSTYPE",
    "CHILD_MAX",
    "FCEDIT",
    "MAIL",
    "_",
    "REPLY",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "AUTO_RESUME",
    "PIP",
    "MAKEFILES",
    "SUDO",
    "LESSOPEN",
    "LESSCLOSE",
    "LOCALDOMAIN",
    "RES_OPTIONS",
    "HOSTALIASES",
];

const INFLUENTIAL_STARTS: &[&str] = &[
    "BASH",
    "COMP_",
    "COMPREPLY",
    "EPOCH",
    "HIST",
    "READLINE",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PROMPT",
    "LD_",
    "DYLD_",
    "GIT",
    "SSH",
    "PYTHON",
    "PIP_",
    "NODE",
    "NPM",
    "YARN",
    "PNPM",
    "BUN_",
    "DENO_",
    "PERL",
    "RUBY",
    "GEM",
    "BUNDLE",
    "CARGO",
    "RUST",
    "GO",
    "JAVA",
    "_JAVA",
    "JDK",
    "JVM",
    "MAVEN",
    "MVN",
    "GRADLE",
    "DOCKER",
    "KUBE",
    "AWS",
    "AZURE",
    "GOOGLE",
    "GCLOUD",
    "OPENSSL",
    "SSL",
    "CURL",
    "LESS",
    "MAN",
    "MORE",
    "GREP",
    "RIPGREP",
    "RG_",
    "FZF",
    "FD_",
    "TAR_",
    "XZ_",
    "RSYNC",
    "MAKE",
    "MFLAGS",
    "GNUMAKE",
    "CMAKE",
    "CFLAGS",
    "LUA",
    "PHP",
    "R_",
    "JULIA",
    "XDG",
    "DBUS",
    "ANTHROPIC",
    "OPENAI",
    "WINDLASS",
    "CLAUDE",
    "GPG",
    "GNUPG",
    "POETRY",
    "UV_",
    "VIRTUAL_ENV",
    "CONDA",
    "HOMEBREW",
    "NIX",
    "EMACS",
    "VIM",
    "NVIM",
    "TMUX",
    "SYSTEMD",
    "MALLOC",
    "GLIBC",
    "ASAN",
    "QT_",
    "GTK",
    "GIO",
    "GDK",
    "ELECTRON",
    "DOTNET",
    "COMPlus",
];

const INFLUENTIAL_ENDS: &[&str] =
    &["PAGER", "EDITOR", "FLAGS", "_PROXY", "OPTS", "OPTIONS", "_PATH", "_COMMAND", "_CONFIG"];
