// Package rabbitmq makes loads on RabbitMQ possible for package run, by AMQP 0-9-1 and
// github.com/rabbitmq/amqp091-go. A topic is a durable direct exchange, and its partition i the
// queue TOPIC-i, bound with the key "i".
package rabbitmq
