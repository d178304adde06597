#!/bin/sh
# Installs Windlass for the current user: a program in a folder of versions, and a link to it.
#
#   WINDLASS_RELEASES_URL=https://host/releases sh install.sh [VERSION]
#
# The download's size and checksum are checked before anything of it runs. It is made in a folder of its
# own and gets its name by one rename, so a failure leaves what was installed. No file of a shell is
# touched without a yes.
#
#   WINDLASS_RELEASES_URL     where releases are, in the form of a project's release page on GitHub
#   WINDLASS_INSTALL_DIR      where the link goes; ~/.local/bin
#   WINDLASS_SHA256           the checksum of the packed program, to pin it
#   WINDLASS_NON_INTERACTIVE  set: never ask, which means no
set -eu
umask 022

say() { printf 'install.sh: %s\n' "$*" >&2; }
fail() {
    say "$*"
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# A release is smaller, packed and unpacked; `windlass update` has the same limits.
manifest_bytes_max=262144
program_bytes_max=268435456

# fetch <url> <file> <bytes it may have>: a file that goes on and on is cut off, not written to the end of the disk.
fetch() (
    # In blocks of 512 bytes; somewhat more, so that the size can still be compared.
    ulimit -f "$(($3 / 512 + 128))"
    if has curl; then
        curl --proto "$protocols" --proto-redir "$protocols" --fail --silent --show-error --location --max-redirs 5 \
            --connect-timeout 20 --speed-limit 1 --speed-time 30 --output "$2" "$1"
    else
        fetch_with_wget "$1" "$2"
    fi
)

# wget cannot be told which protocols a redirect may lead to, so each one is looked at first.
fetch_with_wget() {
    address="$1"
    for _ in 1 2 3 4 5 6; do
        if wget --server-response --max-redirect=0 --tries=1 --timeout=30 --output-document="$2" \
            "$address" 2>"$begun/headers"; then
            rm -f "$begun/headers"
            return
        fi
        next="$(sed -n 's/^ *[Ll]ocation: *\([^ ]*\).*/\1/p' "$begun/headers" | tr -d '\r' | tail -n 1)"
        case "$next" in
        /*) address="$(echo "$address" | sed 's|^\([a-z]*://[^/]*\).*|\1|')$next" ;;
        "${protocols#=}"://*) address="$next" ;;
        '')
            cat "$begun/headers" >&2
            return 1
            ;;
        *)
            say "$address leads to $next, which is not ${protocols#=}"
            return 1
            ;;
        esac
    done
    say "$1 leads on and on"
    return 1
}

# The checksum of a file, as digits.
sum_of() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "sha256sum or shasum is needed"
    fi
}

# BusyBox's wget follows redirects to wherever they lead.
check_downloader() {
    has curl && return
    has wget || fail "curl or wget is needed"
    case "$(wget --help 2>&1 || true)" in
    *BusyBox*) fail "curl or GNU wget is needed: the wget of BusyBox follows redirects to any protocol" ;;
    esac
}

find_platform() {
    os="$(uname -s)"
    arch="$(uname -m)"
    case "$os" in
    Linux) os=linux ;;
    Darwin) os=macos ;;
    *) fail "there is no build for $os" ;;
    esac
    case "$arch" in
    x86_64 | amd64) arch=x86_64 ;;
    aarch64 | arm64) arch=aarch64 ;;
    *) fail "there is no build for $arch" ;;
    esac
    name="windlass-$arch-$os.gz"
}

check_version_form() {
    case "$1" in
    '' | *[!0-9A-Za-z.-]* | *..* | -* | .*) fail "\`$1\` is not a version; it looks like 1.2.3" ;;
    esac
}

# A folder is made or not: that is the lock. The process in it may be gone.
take_lock() {
    if ! mkdir "$lock" 2>/dev/null; then
        holder="$(cat "$lock/pid" 2>/dev/null || true)"
        if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
            rm -rf "$lock"
        fi
        if ! mkdir "$lock" 2>/dev/null; then
            [ -w "$versions" ] || fail "$versions cannot be changed: it is read-only for you"
            fail "another install is running; if not, remove $lock"
        fi
    fi
    holds_lock=yes
    echo "$$" >"$lock/pid"
}

clean_up() {
    [ -z "$begun" ] || rm -rf "$begun" "$versions/.begun-link-$$"
    [ -z "$new_launcher" ] || rm -f "$new_launcher"
    [ -z "$holds_lock" ] || rm -rf "$lock"
}

download() {
    if [ -n "$version" ]; then
        list_url="$base/download/v$version/manifest.txt"
    else
        list_url="$base/latest/download/manifest.txt"
    fi
    fetch "$list_url" "$begun/manifest.txt" "$manifest_bytes_max" || fail "$list_url cannot be read; nothing was changed"
    listed="$(sed -n '1s/^windlass //p' "$begun/manifest.txt")"
    check_version_form "$listed"
    [ -z "$version" ] || [ "$version" = "$listed" ] || fail "$list_url is the list of $listed"
    version="$listed"
    row="$(grep "  $name\$" "$begun/manifest.txt" || true)"
    [ -n "$row" ] || fail "version $version has no $name: none was built for this machine"
    expected_sum="$(echo "$row" | awk 'NR == 1 { print $1 }')"
    pinned_sum="$(printf '%s' "${WINDLASS_SHA256:-}" | tr 'A-F' 'a-f')"
    [ -z "$pinned_sum" ] || [ "$expected_sum" = "$pinned_sum" ] ||
        fail "$list_url lists the checksum $expected_sum, and $WINDLASS_SHA256 was asked for"
    expected_bytes="$(echo "$row" | awk 'NR == 1 { print $2 }')"
    case "$expected_bytes" in
    '' | *[!0-9]* | ??????????*) fail "$list_url: the size of $name cannot be right" ;;
    esac
    [ "$expected_bytes" -le "$program_bytes_max" ] || fail "$list_url: the size of $name cannot be right"
    url="$base/download/v$version/$name"
    fetch "$url" "$begun/packed.gz" "$expected_bytes" || fail "$url cannot be read whole into $versions (is there space left?); nothing was changed"
    bytes="$(wc -c <"$begun/packed.gz" | tr -d ' ')"
    [ "$bytes" = "$expected_bytes" ] ||
        fail "$url has $bytes bytes, not $expected_bytes: the download was cut or is another file"
    sum="$(sum_of "$begun/packed.gz")"
    [ "$sum" = "$expected_sum" ] ||
        fail "$url has the checksum $sum, not $expected_sum: nothing of it was run"
}

unpack() {
    (
        ulimit -f "$((program_bytes_max / 512))"
        gzip -dc "$begun/packed.gz" >"$begun/windlass"
    ) || fail "$begun/windlass cannot be written"
    chmod 755 "$begun/windlass"
    rm -f "$begun/packed.gz" "$begun/manifest.txt"
    said="$("$begun/windlass" --version 2>/dev/null </dev/null || true)"
    case " $said " in
    *" $version "*) ;;
    *) fail "version $version does not run here; it is not used" ;;
    esac
}

# Both names change by one rename each, after both links were made: a folder that cannot be written or a
# full disk fails before the first of them. What a person put in the link's place is left alone.
put_in_place() {
    launcher="$bin/windlass"
    target="$versions/current/windlass"
    new_launcher=""
    if [ -e "$launcher" ] || [ -L "$launcher" ]; then
        [ "$(readlink "$launcher" 2>/dev/null || true)" = "$target" ] ||
            say "$launcher is not ours and stays; the new version is $target"
    else
        new_launcher="$bin/.windlass-$$"
        ln -s "$target" "$new_launcher" 2>/dev/null || fail "$bin cannot be changed; nothing was changed"
    fi
    ln -s "$version" "$versions/.begun-link-$$"
    if [ -d "$versions/$version" ]; then
        # The same version again: only its program is replaced, so that there is one at every moment.
        mv -f "$begun/windlass" "$versions/$version/windlass"
        rm -rf "$begun"
    else
        mv "$begun" "$versions/$version"
    fi
    rename_link "$versions/.begun-link-$$" "$versions/current"
    begun=""
    [ -z "$new_launcher" ] || mv -f "$new_launcher" "$launcher"
    new_launcher=""
}

# `mv` would move the link into the folder that the old link points to. `-T` is known to GNU and BusyBox, `-h` to BSD
# and macOS.
rename_link() {
    mv -f -T "$1" "$2" 2>/dev/null || mv -f -h "$1" "$2" 2>/dev/null ||
        fail "$2 cannot be changed; $(readlink "$2" 2>/dev/null || echo nothing) stays installed"
}

look_at_path() {
    first="$(command -v windlass 2>/dev/null || true)"
    if [ -n "$first" ] && [ "$first" != "$bin/windlass" ]; then
        say "another copy comes first on PATH: $first"
    fi
    case ":$PATH:" in
    *":$bin:"*) return ;;
    esac
    line="export PATH=\"$bin:\$PATH\""
    profile="$HOME/.profile"
    if [ -z "${WINDLASS_NON_INTERACTIVE:-}" ] && [ -t 0 ] && [ -t 2 ]; then
        printf '%s is not on PATH. Add it in %s? [y/N] ' "$bin" "$profile" >&2
        read -r answer || answer=no
        case "$answer" in
        y | Y | yes)
            printf '\n%s\n' "$line" >>"$profile"
            say "added; it holds from the next login on"
            return
            ;;
        esac
    fi
    say "$bin is not on PATH; this line changes that: $line"
}

# Everything is in functions, so that a script that was cut on its way into a shell does nothing.
main() {
    begun=""
    holds_lock=""
    new_launcher=""
    version="${1:-}"
    base="${WINDLASS_RELEASES_URL:-}"
    base="${base%/}"
    [ -n "$base" ] || fail "there is no address of releases: set WINDLASS_RELEASES_URL, see docs/install.md"
    case "$base" in
    *@*) fail "WINDLASS_RELEASES_URL must not name a user" ;;
    https://*) protocols="=https" ;;
    http://127.0.0.1 | http://127.0.0.1[:/]* | http://localhost | http://localhost[:/]*) protocols="=http" ;;
    *) fail "WINDLASS_RELEASES_URL must begin with https://; plain http is only for this machine" ;;
    esac
    version="${version#v}"
    [ -z "$version" ] || check_version_form "$version"
    [ -n "${HOME:-}" ] || fail "HOME is not set"
    has gzip || fail "gzip is needed"
    check_downloader
    find_platform

    bin="${WINDLASS_INSTALL_DIR:-$HOME/.local/bin}"
    versions="${XDG_DATA_HOME:-$HOME/.local/share}/windlass/versions"
    mkdir -p "$versions" "$bin" || fail "$versions or $bin cannot be made; nothing was changed"
    # A link to a relative path would lead somewhere else.
    versions="$(cd "$versions" && pwd)"
    bin="$(cd "$bin" && pwd)"
    lock="$versions/.lock"
    # Before a download, so that nobody waits for one that has no place.
    [ -w "$bin" ] || fail "$bin cannot be changed; nothing was changed. WINDLASS_INSTALL_DIR names another folder"
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    take_lock
    rm -rf "$versions"/.begun-*
    begun="$versions/.begun-$$"
    mkdir "$begun" || fail "$versions cannot be changed"
    download
    unpack
    put_in_place
    look_at_path
    say "windlass $version is installed: $bin/windlass"
}

{ main "$@"; }
