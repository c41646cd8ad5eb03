//! The words of a filter, each with its place.

use super::invalid;
use crate::Result;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A bare word: a column, a function or a word of the grammar.
    Word(String),
    /// A name between backticks or double quotes: always a column.
    Name(String),
    /// Between single quotes.
    Text(String),
    /// As it is written.
    Number(String),
    Symbol(&'static str),
    End,
}

impl Token {
    /// As a message shows it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Word(word) | Self::Number(word) => format!("'{word}'"),
            Self::Name(name) => format!("the name `{name}`"),
            Self::Text(text) => format!("the text '{text}'"),
            Self::Symbol(symbol) => format!("'{symbol}'"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Longer ones first.
const SYMBOLS: [&str; 18] =
    ["<=>", "<=", ">=", "<>", "!=", "==", "||", "=", "<", ">", "(", ")", ",", ".", "-", "+", "*", "/"];

/// All tokens with the byte at which each starts; the last one is `End`.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        let (token, after) = match first {
            '\'' | '`' | '"' => quoted(rest, first, at)?,
            _ if starts_number(rest) => number(rest),
            _ if first == '_' || first.is_alphabetic() => word(rest),
            _ => symbol(rest, at)?,
        };
        found.push((token, at));
        rest = after.trim_start();
    }
    found.push((Token::End, text.len()));
    Ok(found)
}

/// The quote itself is written twice. A backslash is a backslash.
fn quoted(rest: &str, quote: char, at: usize) -> Result<(Token, &str)> {
    let mut content = String::new();
    let mut inside = rest.get(quote.len_utf8()..).unwrap_or_default();
    loop {
        let Some((part, after)) = inside.split_once(quote) else {
            return Err(invalid(at, format!("the quote {quote} is never closed")));
        };
        content.push_str(part);
        match after.strip_prefix(quote) {
            Some(after) => {
                content.push(quote);
                inside = after;
            }
            None if quote == '\'' => return Ok((Token::Text(content), after)),
            None => return Ok((Token::Name(content), after)),
        }
    }
}

fn starts_number(rest: &str) -> bool {
    let digits = rest.strip_prefix('.').unwrap_or(rest);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// Digits, a point, an exponent, and letters behind them that say the type.
fn number(rest: &str) -> (Token, &str) {
    let mut length = 0;
    let mut last = ' ';
    for c in rest.chars() {
        let signed_exponent = matches!(c, '+' | '-') && matches!(last, 'e' | 'E');
        if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || signed_exponent) {
            break;
        }
        length += c.len_utf8();
        last = c;
    }
    let (number, after) = rest.split_at(length);
    (Token::Number(number.to_owned()), after)
}

fn word(rest: &str) -> (Token, &str) {
    let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
    let (word, after) = rest.split_at(length);
    (Token::Word(word.to_owned()), after)
}

fn symbol(rest: &str, at: usize) -> Result<(Token, &str)> {
    let found = SYMBOLS.iter().find_map(|symbol| Some((Token::Symbol(symbol), rest.strip_prefix(symbol)?)));
    found.ok_or_else(|| {
        let c = rest.chars().next().unwrap_or_default();
        invalid(at, format!("the character {c:?} has no meaning here"))
    })
}
