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

// flowing returns the ports of clients whose connection, or a channel of it, credit flow holds back.
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
			if c.State == "flow" {
				ports[fmt.Sprint(cmp.Or(c.Port, c.Details["peer_port"]))] = true
			}
		}
	}
	return ports
}

// queueLimit returns the limit at which queues refuse messages, or drop those that were confirmed, by their arguments and
// policies; empty if there is none.
func queueLimit(configs map[string]string) (refuses, drops string) {
	overflow := cmp.Or(configs["x-overflow"], configs["overflow"], "drop-head")
	limits := ""
	for _, name := range []string{"max-length", "max-length-bytes"} {
		if v := cmp.Or(configs["x-"+name], configs[name]); v != "" {
			limits += name + "=" + v + ", "
		}
	}
	at := fmt.Sprintf("at their limit (%soverflow=%s)", limits, overflow)
	switch ttl := cmp.Or(configs["x-message-ttl"], configs["message-ttl"]); {
	case limits == "" && ttl != "":
		return "", "queues drop messages that nobody has read after " + ttl + " ms (message-ttl)"
	case limits == "":
		return "", ""
	case strings.HasPrefix(overflow, "reject-publish"):
		return "queues refuse messages " + at, ""
	}
	return "", "queues drop their oldest messages " + at
}
