//! Random bytes from the system: names that cannot be guessed, and the seed of the retry jitter.

pub fn generate_seed() -> u64 {
    u64::from_le_bytes(generate_bytes())
}

pub fn generate_name() -> String {
    format!("{:016x}", generate_seed())
}

/// A random UUID (version 4), the form in which clients expect session ids.
pub fn generate_uuid() -> String {
    uuid::Builder::from_random_bytes(generate_bytes()).into_uuid().to_string()
}

/// If the system fails to return any, which does not happen in practice, uses the clock: nothing
/// here protects a secret.
fn generate_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if fill(&mut bytes) {
        return bytes;
    }
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let noise = since.as_nanos() ^ (u128::from(std::process::id()) << 96);
    for (byte, noise) in bytes.iter_mut().zip(noise.to_le_bytes()) {
        *byte = noise;
    }
    bytes
}

#[cfg(target_os = "linux")]
fn fill(bytes: &mut [u8]) -> bool {
    let wanted = bytes.len();
    rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty()) == Ok(wanted)
}

#[cfg(not(target_os = "linux"))]
fn fill(bytes: &mut [u8]) -> bool {
    use std::io::Read as _;
    std::fs::File::open("/dev/urandom").is_ok_and(|mut file| file.read_exact(bytes).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_their_form_and_differ() {
        let one = generate_uuid();
        let other = generate_uuid();
        assert_ne!(one, other);
        let lengths: Vec<_> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{one}");
        assert_eq!(one.as_bytes()[14], b'4', "{one}");
        assert!("89ab".contains(char::from(one.as_bytes()[19])), "{one}");
    }
}
