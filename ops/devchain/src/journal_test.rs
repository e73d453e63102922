//! Framing: whatever is cut off a tail is forgiven, whatever is changed before it is not.

use super::*;

/// A small generator, so that failures can be replayed from the seed in the message.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn payload(&mut self) -> Vec<u8> {
        let length = self.roll(300);
        // Marks inside of payloads are the hard case.
        (0..length).flat_map(|_| if self.roll(40) == 0 { MARK.to_vec() } else { vec![self.roll(256) as u8] }).collect()
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("devchain-journal-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn read(path: &Path) -> Result<Vec<Vec<u8>>> {
    let mut payloads = Vec::new();
    Journal::open(path, |payload| {
        payloads.push(payload.to_vec());
        Ok(())
    })?;
    Ok(payloads)
}

#[test]
fn what_was_appended_is_read_back() {
    let path = folder("append").join("log");
    for seed in 0..40 {
        let _ = std::fs::remove_file(&path);
        let mut dice = Dice(seed);
        let mut written = Vec::new();
        for _ in 0..3 {
            let mut journal = Journal::open(&path, |_| Ok(())).unwrap();
            for _ in 0..dice.roll(5) {
                written.push(dice.payload());
                journal.append(written.last().unwrap()).unwrap();
            }
        }
        assert_eq!(read(&path).unwrap(), written, "seed {seed}");
    }
}

#[test]
fn a_torn_tail_is_cut_off_and_the_file_goes_on() {
    let path = folder("torn").join("log");
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let kept: Vec<Vec<u8>> = (0..dice.roll(4)).map(|_| dice.payload()).collect();
        let last = frame(&dice.payload());
        let mut bytes: Vec<u8> = kept.iter().flat_map(|payload| frame(payload)).collect();
        let cut = 1 + dice.roll(last.len() - 1);
        bytes.extend_from_slice(&last[..cut]);
        // A file system may also have made the file longer without its content.
        bytes.extend(std::iter::repeat_n(0, dice.roll(2) * dice.roll(50)));
        std::fs::write(&path, &bytes).unwrap();
        let intact = bytes.len() == kept.iter().map(|payload| HEAD + payload.len()).sum::<usize>() + last.len()
            && bytes.ends_with(&last);
        if intact {
            continue;
        }
        assert_eq!(read(&path).unwrap(), kept, "seed {seed}");
        Journal::open(&path, |_| Ok(())).unwrap().append(b"next").unwrap();
        assert_eq!(read(&path).unwrap().last().unwrap(), b"next", "seed {seed}");
    }
}

#[test]
fn damage_before_a_whole_frame_is_an_error_that_says_what_to_do() {
    let path = folder("damage").join("log");
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let first = frame(&dice.payload());
        let mut bytes = first.clone();
        bytes.extend(frame(&dice.payload()));
        let position = dice.roll(first.len());
        bytes[position] ^= 1 << dice.roll(8);
        std::fs::write(&path, &bytes).unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(error, Error::Corrupt { offset: 0, .. }), "seed {seed}: {error}");
        assert!(error.to_string().contains("restore the file and the database"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "a damaged file must not be changed");
    }
}
