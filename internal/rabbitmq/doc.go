// Package rabbitmq carries a load on RabbitMQ.
package rabbitmq
