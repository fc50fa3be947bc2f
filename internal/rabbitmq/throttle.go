package rabbitmq

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// lookAround fails messages that have waited too long, and notes whether the server throttles the worker.
func (w *worker) lookAround() {
	w.refuse(w.settings.deliveryTimeout)
	nacked, at, why := w.nacked.Swap(false), "", ""
	limit, _ := w.limit.Load().(string)
	flow, _ := w.flow.Load().(map[string]bool)
	if o, reason := w.at.Load(), w.blocked.Load(); o != nil {
		at = o.host
		_, port, _ := net.SplitHostPort(o.pipe.conn.LocalAddr().String()) // it has one
		switch {
		case reason != nil:
			why = "RabbitMQ blocks publishers: " + *reason
		case nacked && limit != "":
			why = limit
		case flow[port]:
			why = "credit flow of RabbitMQ, whose queues or disks take no more"
		}
	}
	w.shard.LookThrottled(w.broker(at), why)
}

// flowing returns the ports of clients whose connection, or a channel of it, credit flow holds back: of all that are known.
func (m *management) flowing(ctx context.Context) map[string]bool {
	ports := make(map[string]bool)
	for _, path := range []string{"connections?columns=state,peer_port", "channels?columns=state,connection_details.peer_port"} {
		var all []struct {
			State   string
			Port    int            `json:"peer_port"`
			Details map[string]int `json:"connection_details"`
		}
		_ = m.get(ctx, "vhosts/"+url.PathEscape(m.system.vhost)+"/"+path, &all) // else none is known
		for _, c := range all {
			port := fmt.Sprint(cmp.Or(c.Port, c.Details["peer_port"]))
			ports[port] = ports[port] || c.State == "flow"
		}
	}
	return ports
}

// queueLimit returns the limit at which queues refuse messages, or drop those that were confirmed, by their arguments and
// policies; empty if there is none.
func queueLimit(configs map[string]string) (refuses, drops string) {
	overflow := cmp.Or(configs["x-overflow"], configs["overflow"], "drop-head")
	messages, bytes := cmp.Or(configs["x-max-length"], configs["max-length"]), cmp.Or(configs["x-max-length-bytes"], configs["max-length-bytes"])
	at := fmt.Sprintf("at their limit (max-length=%s, max-length-bytes=%s, overflow=%s)", messages, bytes, overflow)
	switch {
	case messages+bytes == "":
		return "", ""
	case strings.HasPrefix(overflow, "reject-publish"):
		return "queues refuse messages " + at, ""
	}
	return "", "queues drop their oldest messages " + at
}
