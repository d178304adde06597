//! `tar` and `unzip` when they only list an archive.
//!
//! Both can also extract with similar options, so the few ways of listing are accepted and all
//! others ask. Listing may start another program for decompression, so it is accepted only in a
//! cell.

use super::read_only_command::ReadOnlyWords;
use super::shell_word::ShellWord;

/// `tar -tf FILE member…`, in the usual notations.
pub(super) fn analyze_tar(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let (options, rest) = arguments.split_first()?;
    let letters = options.as_certain()?;
    let letters = letters.strip_prefix('-').unwrap_or(letters);
    // The name of the archive follows the last letter.
    let before_file = letters.strip_suffix('f')?;
    let is_listing = before_file.contains('t') && before_file.chars().all(|c| "tvzjJ".contains(c));
    let (archive, members) = rest.split_first()?;
    let text = archive.as_known()?;
    // A colon means a file on another machine.
    let is_local = !text.contains(':') && text != "-" && !archive.may_be_option();
    let is_plain = is_listing && is_local && members.iter().all(|word| !word.may_be_option());
    is_plain.then(|| ReadOnlyWords::from_files(vec![archive]).in_cell())
}

/// `unzip -l FILE member…` and similar.
pub(super) fn analyze_unzip(arguments: &[ShellWord]) -> Option<ReadOnlyWords<'_>> {
    let is_option = |word: &&ShellWord| word.as_certain().is_some_and(|text| text.starts_with('-'));
    let count = arguments.iter().take_while(is_option).count();
    let (options, rest) = arguments.split_at_checked(count)?;
    let letters: String = options.iter().filter_map(ShellWord::as_certain).collect();
    let letters = letters.replace('-', "");
    let lists = letters.contains(['l', 'v']) && letters.chars().all(|c| "lvq".contains(c));
    let (archive, members) = rest.split_first()?;
    let is_plain = lists
        && archive.as_known().is_some()
        && !archive.may_be_option()
        && members.iter().all(|word| !word.may_be_option());
    is_plain.then(|| ReadOnlyWords::from_files(vec![archive]).in_cell())
}
