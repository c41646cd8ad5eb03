//! A deserializer around another one, which counts the memory that the values take and stops where it gets too much.
//! Without it a text such as a million empty objects would become a million structs.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};

use super::datum::{Budget, GROWTH, MAP_SLACK, TREE_NODE};

/// Hands everything through, by way of [`Watched`] visitors, accesses and seeds.
pub(super) struct Metered<'b, D> {
    inner: D,
    budget: &'b mut Budget,
}

impl<'b, D> Metered<'b, D> {
    pub(super) fn new(inner: D, budget: &'b mut Budget) -> Self {
        Self { inner, budget }
    }
}

fn spend<E: Error>(budget: &mut Budget, bytes: usize) -> Result<(), E> {
    budget.spend(bytes).map_err(|e| E::custom(e.message()))
}

macro_rules! forward {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($name,)* Watched { inner: visitor, budget: self.budget })
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Metered<'_, D> {
    type Error = D::Error;

    /// Whoever takes anything keeps it in a tree.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        spend(self.budget, TREE_NODE)?;
        self.inner.deserialize_any(Watched { inner: visitor, budget: self.budget })
    }

    forward! {
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(length: usize);
        deserialize_tuple_struct(name: &'static str, length: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
        deserialize_ignored_any();
    }
}

/// A visitor, seed or access whose inner values are metered.
struct Watched<'b, T> {
    inner: T,
    budget: &'b mut Budget,
}

macro_rules! visit {
    ($($method:ident: $type:ty;)*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Watched<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool: bool;
        visit_i64: i64;
        visit_i128: i128;
        visit_u64: u64;
        visit_u128: u128;
        visit_f64: f64;
        visit_char: char;
        visit_bytes: &[u8];
        visit_borrowed_bytes: &'de [u8];
        visit_byte_buf: Vec<u8>;
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        spend(self.budget, text.len())?;
        self.inner.visit_str(text)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        spend(self.budget, text.len())?;
        self.inner.visit_borrowed_str(text)
    }

    fn visit_string<E: Error>(self, text: String) -> Result<V::Value, E> {
        spend(self.budget, text.len())?;
        self.inner.visit_string(text)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Metered { inner, budget: self.budget })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Metered { inner, budget: self.budget })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Watched { inner, budget: self.budget })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Watched { inner, budget: self.budget })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(inner)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Watched<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Metered { inner, budget: self.budget })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Watched<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let item = self.inner.next_element_seed(Watched { inner: seed, budget: self.budget })?;
        if item.is_some() {
            spend(self.budget, GROWTH * size_of::<S::Value>())?;
        }
        Ok(item)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Watched<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let key = self.inner.next_key_seed(Watched { inner: seed, budget: self.budget })?;
        if key.is_some() {
            spend(self.budget, MAP_SLACK * size_of::<S::Value>())?;
        }
        Ok(key)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        spend(self.budget, MAP_SLACK * size_of::<S::Value>())?;
        self.inner.next_value_seed(Watched { inner: seed, budget: self.budget })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}
