//! Every type that crosses, read from the layouts that the checker compares at load.

use std::collections::BTreeMap;

use abi_stable::StableAbi as _;
use abi_stable::type_layout::{TLField, TLFunction, TypeLayout};
use lockgate_plugin_api::abi::root::PluginRootRef;

/// A type of this crate that crosses, by value or behind a pointer.
pub(crate) struct Crossing {
    /// Whether it stands behind a prefix header.
    pub(crate) is_table: bool,
    /// In bytes, without a header.
    pub(crate) size: usize,
    /// In bytes.
    pub(crate) alignment: usize,
    /// What else the layout says: names and numbers, of verdicts and flags.
    pub(crate) numbers: Vec<(String, u64)>,
    /// In order.
    pub(crate) fields: Vec<Field>,
}

/// A field of a type that crosses.
pub(crate) struct Field {
    /// Its name, which is part of the ABI.
    pub(crate) name: String,
    /// Its type, in Rust's words; functions with the names of their parameters.
    pub(crate) kind: String,
    /// From the start of the type, behind the header of a table.
    pub(crate) offset: usize,
}

/// All of them by name, found from the root table on.
pub(crate) fn crossing() -> BTreeMap<String, Crossing> {
    let mut found = BTreeMap::new();
    visit(PluginRootRef::LAYOUT, &mut found);
    found
}

fn visit(layout: &'static TypeLayout, found: &mut BTreeMap<String, Crossing>) {
    let name = name(layout);
    let is_ours = layout.package().as_str() == env!("CARGO_PKG_NAME");
    if is_ours {
        if found.contains_key(&name) {
            return;
        }
        found.insert(name, crossing_of(layout));
    }
    for field in fields(layout) {
        for function in field.function_range().iter() {
            parameters(&function).into_iter().for_each(|it| visit(it.1, found));
            function.return_type_layout().into_iter().for_each(|it| visit(it(), found));
        }
        visit(field.layout(), found);
    }
    layout.phantom_fields().iter().for_each(|it| visit(it.layout(), found));
}

fn crossing_of(layout: &'static TypeLayout) -> Crossing {
    let mut end: usize = 0;
    let mut place = |field: TLField| {
        let offset = end.next_multiple_of(field.layout().alignment());
        end = offset + field.layout().size();
        Field { name: field.name().replace("field_", ""), kind: kind(&field), offset }
    };
    let fields: Vec<_> =
        fields(layout).filter(|it| it.layout().size() > 0).map(&mut place).collect();
    // As C lays a struct out: the offsets above rest on it.
    assert_eq!(end.next_multiple_of(layout.alignment()), layout.size(), "{}", name(layout));
    let is_table = layout.is_prefix_kind();
    let (size, alignment) = (layout.size(), layout.alignment());
    Crossing { is_table, size, alignment, numbers: numbers(&layout.tag().to_string()), fields }
}

/// The names and numbers of a tag, which shows itself only as text: `'DENY'=>2,` in each line.
fn numbers(tag: &str) -> Vec<(String, u64)> {
    let number = |line: &str| {
        let (name, number) = line.trim().trim_end_matches(',').split_once("=>")?;
        Some((name.trim_matches('\'').to_owned(), number.parse().ok()?))
    };
    tag.lines().filter_map(number).collect()
}

fn fields(layout: &'static TypeLayout) -> impl Iterator<Item = TLField> {
    layout.get_fields().into_iter().flat_map(|it| it.iter())
}

fn parameters(function: &TLFunction) -> Vec<(&'static str, &'static TypeLayout)> {
    let names = function.param_names.as_str().split(',');
    names.zip(function.param_type_layouts.iter().map(|it| it())).collect()
}

fn kind(field: &TLField) -> String {
    let Some(function) = field.function_range().iter().next() else {
        return name(field.layout());
    };
    let parameters: Vec<_> =
        parameters(&function).iter().map(|(it, of)| format!("{it}: {}", name(of))).collect();
    let mut text = format!("fn({})", parameters.join(", "));
    if let Some(returned) = function.return_type_layout() {
        text += &format!(" -> {}", name(returned()));
    }
    if field.is_function() { text } else { format!("Option<{text}>") }
}

/// A type's name with its arguments, which the layouts do not tell: they are what its fields and
/// functions speak of.
fn name(layout: &'static TypeLayout) -> String {
    let full = layout.full_type().to_string();
    let pointee = |it: &'static TypeLayout| {
        it.phantom_fields().iter().next().expect("a pointer says what it points to").layout()
    };
    let parameter = |field: &str, index: usize| {
        let field = fields(layout).find(|it| it.name() == field).expect("the field is there");
        let function = field.function_range().iter().next().expect("it is a function");
        parameters(&function)[index].1
    };
    match layout.name() {
        "PrefixRef" => match name(pointee(layout)).split_once('<') {
            Some((table, arguments)) => format!("{table}Ref<{arguments}"),
            None => format!("{}Ref", name(pointee(layout))),
        },
        pointer @ ("*const" | "*mut") => format!("{pointer} {}", name(pointee(layout))),
        "Slice" => {
            let items = fields(layout).next().expect("a list has a pointer").layout();
            format!("Slice<{}>", name(pointee(items)))
        }
        "SeamFuture" => format!("SeamFuture<{}>", name(pointee(parameter("poll", 2)))),
        "Listener" => {
            let answer = name(pointee(parameter("call", 2)));
            format!("Listener<{}, {answer}>", name(parameter("call", 1)))
        }
        "NextTable" => {
            let future = name(pointee(parameter("run", 1)));
            future.replace("SeamFuture", "NextTable")
        }
        _ => full,
    }
}
