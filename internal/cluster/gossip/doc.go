// Package gossip finds the other agents of a network, and notices when they are gone.
//
//	g, err := gossip.Start(gossip.Options{Port: port, Key: key, Join: []string{"vm14:7946"}, Info: info})
//	g.Members() // vm14 alive, vm15 alive, vm16 gone
//
// It carries presence only, which fits a datagram. Its TCP connections are authenticated by package
// port before memberlist sees them. Its packets are encrypted by memberlist, with a key that is
// derived from the shared one. Everything else goes over HTTP/2 on the same port.
//
// Agents may start in any order. An address to join is tried until it answers, and again
// whenever no live member is there. A name may have many addresses, which may change: it is looked
// up again, and each address is joined where no live member is. Members that are gone are tried
// too. So a network that was split becomes one again.
//
// The data of a peer is bounded in length, and its characters cannot control a terminal.
//
// The key keeps others out. It does not stop them from recording packets and sending them again,
// because memberlist has no protection against replays. So a member that is gone may be shown as
// alive until it is asked, or a live one as gone until it objects. Only the list of members
// depends on that: loads use the connections of package port, which refuse replays. A goodbye
// contains the start of its agent, and is ignored after the next start.
package gossip
