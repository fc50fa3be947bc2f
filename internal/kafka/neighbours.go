package kafka

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// This file knows the servers that stand beside brokers and are taken for one.

var (
	errZooKeeper  = errors.New("ZooKeeper answers, and no Kafka broker: name the port of a broker")
	errController = errors.New("a KRaft controller answers, and no broker: name the port of a broker (listeners, not controller.listener.names)")
)

// isController reports whether the server that was reached knows Kafka's protocol, but no metadata of topics. That is a
// controller.
func (c *Cluster) isController(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	answer, err := versionsRequest().RequestWith(ctx, c.client.SeedBrokers()[0])
	isMetadata := func(k kmsg.ApiVersionsResponseApiKey) bool { return k.ApiKey == (&kmsg.MetadataRequest{}).Key() }
	return err == nil && len(answer.ApiKeys) > 0 && !slices.ContainsFunc(answer.ApiKeys, isMetadata)
}

func versionsRequest() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "kt", "1" // a broker refuses empty ones
	return req
}

// speaksZooKeeper reports whether a server answers one of ZooKeeper's commands, with its state or with a refusal.
func speaksZooKeeper(ctx context.Context, addr string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }() // it was only a question
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return false
	}
	answer := make([]byte, 64)
	n, _ := conn.Read(answer)
	return bytes.HasPrefix(answer[:n], []byte("Zookeeper version")) || bytes.HasPrefix(answer[:n], []byte("srvr is not executed"))
}
