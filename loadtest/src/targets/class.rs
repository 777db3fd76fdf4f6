//! Classifies addresses. The class decides before any file does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of an address for the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressClass {
    /// This machine: always permitted.
    Loopback,
    /// An address that is never tested, even if it is listed.
    Never(&'static str),
    /// Permitted where it is listed.
    ListedTarget,
}

/// The metadata addresses of clouds beyond the link-local ones. They hand out credentials.
const METADATA_ADDRESSES: [IpAddr; 5] = [
    // Google Cloud, Oracle Cloud, Scaleway
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)),
    // Alibaba Cloud, Azure
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
];

/// Returns whether a cloud hands out credentials at `address`. AWS has a network for it: `fd00:ec2::254` is the
/// metadata service, `fd00:ec2::23` gives the credentials of pods.
fn is_metadata(address: IpAddr) -> bool {
    METADATA_ADDRESSES.contains(&address)
        || matches!(address, IpAddr::V6(v6) if v6.segments()[..2] == [0xfd00, 0xec2])
}

impl AddressClass {
    pub(super) fn from_address(address: IpAddr) -> Self {
        let address = embedded_ipv4(address.to_canonical());
        if address.is_loopback() {
            return Self::Loopback;
        }
        if is_metadata(address) {
            return Self::Never("an address at which a cloud provides credentials");
        }
        if address.is_unspecified() {
            return Self::Never("the unspecified address");
        }
        if address.is_multicast() {
            return Self::Never("a multicast address");
        }
        match address {
            IpAddr::V4(v4) if v4.is_link_local() => {
                Self::Never("a link-local address, such as cloud metadata")
            }
            IpAddr::V6(v6) if v6.is_unicast_link_local() => Self::Never("a link-local address"),
            IpAddr::V4(v4) if v4.is_broadcast() => Self::Never("the broadcast address"),
            IpAddr::V4(v4) if v4.octets()[0] == 0 => Self::Never("an address of no host"),
            _ => Self::ListedTarget,
        }
    }
}

/// Returns the IPv4 address inside an IPv6 address of a translator (RFC 6052), of 6to4 (RFC 3056) or of the
/// deprecated compatible form. A forbidden address stays forbidden in every spelling.
fn embedded_ipv4(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let parts = v6.segments();
    let v4 = |high: u16, low: u16| {
        let ([one, two], [three, four]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(one, two, three, four)
    };
    let found = match parts {
        [0x64, 0xff9b, .., high, low] | [0x2002, high, low, ..] => v4(high, low),
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => v4(high, low),
        _ => return address,
    };
    // Such an address leaves this machine: it is no loopback, whatever is within.
    match AddressClass::from_address(found.into()) {
        AddressClass::Never(_) => found.into(),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(text: &str) -> AddressClass {
        AddressClass::from_address(text.parse().unwrap())
    }

    #[test]
    fn loopback_is_this_machine_in_every_spelling() {
        for text in ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(class(text), AddressClass::Loopback, "{text}");
        }
        for text in ["::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"] {
            assert_eq!(class(text), AddressClass::ListedTarget, "{text}");
        }
    }

    #[test]
    fn what_nobody_may_test_is_never_permitted_in_any_spelling() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.0.1",
            "100.100.100.200",
            "168.63.129.16",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
            "fe80::1",
            "febf::1",
            "224.0.0.1",
            "239.255.255.250",
            "255.255.255.255",
            "ff02::1",
            "::",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "::ffff:0.0.0.0",
            "::2",
        ] {
            assert!(
                matches!(class(text), AddressClass::Never(_)),
                "{text}: {:?}",
                class(text)
            );
        }
    }

    #[test]
    fn all_others_are_a_matter_of_the_list() {
        for text in [
            "10.0.0.1",
            "192.168.0.1",
            "172.16.0.1",
            "126.255.255.255",
            "128.0.0.0",
            "100.64.0.1",
            "203.0.113.1",
            "2001:db8::1",
            "fd00:ec3::254",
            "fd20:ce::253",
        ] {
            assert_eq!(class(text), AddressClass::ListedTarget, "{text}");
        }
    }
}
