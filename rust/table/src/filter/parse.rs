//! From text to a tree. Nothing is known of columns and types yet.
//!
//! ```text
//! any        all (OR all)*
//! all        not (AND not)*
//! not        NOT not | condition
//! condition  value [comparison value | IS … | [NOT] IN (…) | [NOT] BETWEEN … AND … | [NOT] LIKE … [ESCAPE …]]
//! value      single (|| single)*
//! single     -number | literal | column | function(…) | CAST(… AS type) | (any)
//! ```

use super::token::{Token, tokens};
use super::{Op, invalid};
use crate::Result;

/// Expressions within expressions.
const DEEPEST: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// The byte of the text where it starts.
    pub(super) at: usize,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    Column(Vec<String>),
    Literal(Literal),
    Compare(Op, Box<Node>, Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    IsNull(Box<Node>),
    In(Box<Node>, Vec<Node>),
    /// The value, the least and the greatest.
    Between(Box<[Node; 3]>),
    Like {
        value: Box<Node>,
        pattern: Box<Node>,
        escape: char,
    },
    Call(String, Vec<Node>),
    Cast(Box<Node>, TypeName),
}

/// As it stands in the text; what it means, its type says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Null,
    Boolean(bool),
    Text(String),
    /// With its sign.
    Number(String),
    /// `date'…'`, `timestamp'…'`, `x'…'`: the word in lower case, and the text.
    Typed(String, String),
}

/// The name of a type in lower case and the numbers behind it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TypeName(pub(super) String, pub(super) Vec<String>);

pub(super) fn parse(text: &str) -> Result<Node> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0 };
    let node = parser.any()?;
    match parser.peek() {
        Token::End => Ok(node),
        _ => Err(parser.unexpected("AND, OR or the end")),
    }
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    next: usize,
    depth: usize,
}

/// What no bare word may be but itself.
const RESERVED: [&str; 12] =
    ["and", "or", "not", "in", "is", "like", "between", "null", "true", "false", "escape", "as"];
/// Known to Spark, but not here.
const UNKNOWN_OPERATORS: [&str; 7] = ["rlike", "regexp", "ilike", "div", "case", "exists", "interval"];

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(token, _)| token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(0, |(_, at)| *at)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(found) if found.eq_ignore_ascii_case(word))
    }

    fn took_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.next += usize::from(found);
        found
    }

    fn took(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(found) if *found == symbol);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.took(symbol) { Ok(()) } else { Err(self.unexpected(&format!("'{symbol}'"))) }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.took_word(word) { Ok(()) } else { Err(self.unexpected(&word.to_uppercase())) }
    }

    fn unexpected(&self, wanted: &str) -> crate::Error {
        let found = match self.peek() {
            Token::Word(word) if UNKNOWN_OPERATORS.contains(&word.to_lowercase().as_str()) => {
                return invalid(self.at(), format!("filters do not know {}", word.to_uppercase()));
            }
            Token::Symbol(symbol @ ("+" | "-" | "*" | "/")) => {
                return invalid(self.at(), format!("filters do not calculate: there is no '{symbol}'"));
            }
            token => token.shown(),
        };
        invalid(self.at(), format!("{wanted} should stand in the filter where {found} is"))
    }

    fn any(&mut self) -> Result<Node> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(invalid(self.at(), format!("a filter has at most {DEEPEST} levels")));
        }
        let node = self.chain("or", Self::all, What::Any)?;
        self.depth -= 1;
        Ok(node)
    }

    fn all(&mut self) -> Result<Node> {
        self.chain("and", Self::not, What::All)
    }

    fn chain(&mut self, word: &str, part: fn(&mut Self) -> Result<Node>, of: fn(Vec<Node>) -> What) -> Result<Node> {
        let at = self.at();
        let first = part(self)?;
        if !self.is_word(word) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.took_word(word) {
            parts.push(part(self)?);
        }
        Ok(Node { at, what: of(parts) })
    }

    fn not(&mut self) -> Result<Node> {
        let at = self.at();
        let mut negated = false;
        while self.took_word("not") {
            negated = !negated;
        }
        let node = self.condition()?;
        Ok(not_if(negated, at, node))
    }

    fn condition(&mut self) -> Result<Node> {
        let at = self.at();
        let left = self.value()?;
        if let Some((op, negated)) = self.comparison() {
            let right = self.value()?;
            return Ok(not_if(negated, at, Node { at, what: What::Compare(op, Box::new(left), Box::new(right)) }));
        }
        if self.took_word("is") {
            return self.is(at, left);
        }
        let negated = self.took_word("not");
        let what = if self.took_word("in") {
            What::In(Box::new(left), self.list()?)
        } else if self.took_word("between") {
            self.between(left)?
        } else if self.took_word("like") {
            self.like(left)?
        } else if negated {
            return Err(self.unexpected("IN, BETWEEN or LIKE"));
        } else {
            return Ok(left);
        };
        Ok(not_if(negated, at, Node { at, what }))
    }

    /// The operator, and whether its opposite is meant.
    fn comparison(&mut self) -> Option<(Op, bool)> {
        let Token::Symbol(symbol) = self.peek() else { return None };
        let found = match *symbol {
            "=" | "==" => (Op::Equal, false),
            "<=>" => (Op::Same, false),
            "!=" | "<>" => (Op::Equal, true),
            "<" => (Op::Less, false),
            "<=" => (Op::LessEqual, false),
            ">" => (Op::Greater, false),
            ">=" => (Op::GreaterEqual, false),
            _ => return None,
        };
        self.next += 1;
        Some(found)
    }

    fn is(&mut self, at: usize, left: Node) -> Result<Node> {
        let negated = self.took_word("not");
        let left = Box::new(left);
        let same = |left, right: Node| What::Compare(Op::Same, left, Box::new(right));
        let literal = |literal| Node { at, what: What::Literal(literal) };
        let (what, negated) = if self.took_word("null") || self.took_word("unknown") {
            (What::IsNull(left), negated)
        } else if self.took_word("true") {
            (same(left, literal(Literal::Boolean(true))), negated)
        } else if self.took_word("false") {
            (same(left, literal(Literal::Boolean(false))), negated)
        } else if self.took_word("distinct") {
            self.expect_word("from")?;
            (same(left, self.value()?), !negated)
        } else {
            return Err(self.unexpected("NULL, TRUE, FALSE or DISTINCT FROM"));
        };
        Ok(not_if(negated, at, Node { at, what }))
    }

    fn list(&mut self) -> Result<Vec<Node>> {
        self.expect("(")?;
        let mut items = vec![self.value()?];
        while self.took(",") {
            items.push(self.value()?);
        }
        self.expect(")")?;
        Ok(items)
    }

    fn between(&mut self, value: Node) -> Result<What> {
        let least = self.value()?;
        self.expect_word("and")?;
        let greatest = self.value()?;
        Ok(What::Between(Box::new([value, least, greatest])))
    }

    fn like(&mut self, value: Node) -> Result<What> {
        let pattern = Box::new(self.value()?);
        let mut escape = '\\';
        if self.took_word("escape") {
            let at = self.at();
            let Token::Text(text) = self.take() else {
                return Err(invalid(at, "behind ESCAPE stands a character between quotes"));
            };
            let mut chars = text.chars();
            let (Some(only), None) = (chars.next(), chars.next()) else {
                return Err(invalid(at, format!("ESCAPE takes one character, not '{text}'")));
            };
            escape = only;
        }
        Ok(What::Like { value: Box::new(value), pattern, escape })
    }

    fn value(&mut self) -> Result<Node> {
        let at = self.at();
        let first = self.single()?;
        if !matches!(self.peek(), Token::Symbol("||")) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.took("||") {
            parts.push(self.single()?);
        }
        Ok(Node { at, what: What::Call("concat".to_owned(), parts) })
    }

    fn single(&mut self) -> Result<Node> {
        let at = self.at();
        let what = match self.peek().clone() {
            Token::Symbol("(") => {
                self.next += 1;
                let inner = self.any()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Symbol(sign @ ("-" | "+")) => {
                self.next += 1;
                let Token::Number(number) = self.peek().clone() else { return Err(self.unexpected("a number")) };
                self.next += 1;
                What::Literal(Literal::Number(if sign == "-" { format!("-{number}") } else { number }))
            }
            Token::Number(number) => {
                self.next += 1;
                What::Literal(Literal::Number(number))
            }
            Token::Text(text) => {
                self.next += 1;
                What::Literal(Literal::Text(text))
            }
            Token::Name(_) => What::Column(self.column()?),
            Token::Word(word) => self.word(&word)?,
            Token::Symbol(_) | Token::End => return Err(self.unexpected("a column or a value")),
        };
        Ok(Node { at, what })
    }

    fn word(&mut self, word: &str) -> Result<What> {
        let lower = word.to_lowercase();
        match self.tokens.get(self.next + 1).map(|(token, _)| token) {
            Some(Token::Text(text)) => {
                let literal = Literal::Typed(lower, text.clone());
                self.next += 2;
                return Ok(What::Literal(literal));
            }
            Some(Token::Symbol("(")) if !RESERVED.contains(&lower.as_str()) => return self.call(lower),
            _ => {}
        }
        let literal = match lower.as_str() {
            "null" => Literal::Null,
            "true" => Literal::Boolean(true),
            "false" => Literal::Boolean(false),
            reserved if RESERVED.contains(&reserved) => return Err(self.unexpected("a column or a value")),
            reserved if UNKNOWN_OPERATORS.contains(&reserved) => return Err(self.unexpected("a column or a value")),
            _ => return Ok(What::Column(self.column()?)),
        };
        self.next += 1;
        Ok(What::Literal(literal))
    }

    fn column(&mut self) -> Result<Vec<String>> {
        let mut path = Vec::new();
        loop {
            match self.peek().clone() {
                Token::Word(name) | Token::Name(name) => path.push(name),
                _ => return Err(self.unexpected("the name of a column")),
            }
            self.next += 1;
            if !self.took(".") {
                return Ok(path);
            }
        }
    }

    fn call(&mut self, name: String) -> Result<What> {
        self.next += 2;
        if name == "cast" {
            let value = self.any()?;
            self.expect_word("as")?;
            let kind = self.type_name()?;
            self.expect(")")?;
            return Ok(What::Cast(Box::new(value), kind));
        }
        let mut arguments = Vec::new();
        if !self.took(")") {
            arguments.push(self.any()?);
            while self.took(",") {
                arguments.push(self.any()?);
            }
            self.expect(")")?;
        }
        Ok(What::Call(name, arguments))
    }

    fn type_name(&mut self) -> Result<TypeName> {
        let Token::Word(name) = self.peek().clone() else { return Err(self.unexpected("a type")) };
        self.next += 1;
        let mut numbers = Vec::new();
        if self.took("(") {
            loop {
                let Token::Number(number) = self.peek().clone() else { return Err(self.unexpected("a number")) };
                self.next += 1;
                numbers.push(number);
                if !self.took(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        Ok(TypeName(name.to_lowercase(), numbers))
    }
}

fn not_if(negated: bool, at: usize, node: Node) -> Node {
    if negated { Node { at, what: What::Not(Box::new(node)) } } else { node }
}
