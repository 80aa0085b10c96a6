//! Both directions share a key, and the direction follows from the order of the endpoints.

mod packets;

use packets::{Ends, address};
use trustbed_flow::FlowKey;

#[test]
fn both_directions_share_a_key() {
    let ends = Ends::default();
    let (there, back) = (FlowKey::of(&ends.client(0).packet), FlowKey::of(&ends.server(0).packet));
    assert_eq!(there.0, back.0);
    assert_eq!((there.1, back.1), (0, 1));
    assert_eq!(there.0.source(0), ends.client);
    assert_eq!(there.0.source(1), ends.server);
}

#[test]
fn the_address_decides_before_the_port() {
    let ends = Ends { client: (address(2), 1), server: (address(1), 2), ..Ends::default() };
    assert_eq!(FlowKey::of(&ends.client(0).packet).1, 1, "from the higher address to the lower");
    let same = Ends { client: (address(1), 7), server: (address(1), 3), ..Ends::default() };
    assert_eq!(FlowKey::of(&same.client(0).packet).1, 1, "from the higher port to the lower");
}

#[test]
fn the_protocol_belongs_to_the_key() {
    let ends = Ends::default();
    let datagram = ends.datagram(packets::Side::Client, 0, 10);
    assert_ne!(FlowKey::of(&datagram.packet).0, FlowKey::of(&ends.client(0).packet).0);
}
